import { expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { databaseName, DRIVER_OPTIONS } from './driver-options.js';

it.each([
  ['mongodb://a/odds', 'odds'],
  ['mongodb://u:p%2Fq@a,b:27018/odds?replicaSet=rs0', 'odds'],
  ['mongodb+srv://a.example/odds', 'odds'],
  ['mongodb://a/Quoten%20f%C3%BCr%2Dalle?tls=true', 'Quoten für-alle'],
])('the database of %s is the one that the driver takes', (uri, name) => {
  expect(databaseName(uri)).toBe(name);
  expect(new MongoClient(uri).db().databaseName).toBe(name);
});

it.each([
  'mongodb://a',
  'mongodb://a/',
  'mongodb://a/?replicaSet=rs0',
  'mongodb://a?appName=odds/live',
  'mongodb+srv://a.example',
])('the database of %s is the default', (uri) => {
  expect(databaseName(uri)).toBe('markets-odds');
});

it('no connection string keeps the driver from finding out soon that a server is lost, or hangs', () => {
  const wanted = {
    minHeartbeatFrequencyMS: 500,
    heartbeatFrequencyMS: 500,
    connectTimeoutMS: 1_000,
    serverSelectionTimeoutMS: 1_000,
    waitQueueTimeoutMS: 1_500,
  };
  const slow = Object.keys(wanted).map((name) => `${name}=60000`);
  const { options } = new MongoClient(`mongodb://a/?${slow.join('&')}`, DRIVER_OPTIONS);
  expect(options).toMatchObject(wanted);
});
