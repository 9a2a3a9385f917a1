import { expect, it, jest } from '@jest/globals';
import { Config } from '../config.js';
import { Database } from './database.js';

it('logs in anew each time that MongoDB knows it no more, once at a time', async () => {
  const database = new Database(new Config());
  const connect = jest.spyOn(database, 'connectEventually').mockResolvedValue(undefined);
  await Promise.all([database['logInAgain'](), database['logInAgain']()]);
  expect(connect).toHaveBeenCalledTimes(1);
  await database['logInAgain']();
  expect(connect).toHaveBeenCalledTimes(2);
});
