import { describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { changeOf, type ChangeEvent } from './change.js';

function anEvent(overrides: Partial<ChangeEvent>): ChangeEvent {
  return {
    _id: { _data: '' },
    operationType: 'update',
    clusterTime: new Timestamp({ t: 1, i: 1 }),
    wallTime: new Date(1_000),
    ns: { coll: 'markets' },
    documentKey: { _id: 'a' },
    ...overrides,
  };
}

const document = { _id: 'a', eventId: 'e' };

describe('changeOf', () => {
  it.each(['update', 'replace'])('tells the document after an %s', (operationType) => {
    expect(changeOf(anEvent({ operationType, fullDocument: document }), 'markets')).toEqual({
      kind: 'stored',
      id: 'a',
      document,
    });
  });

  it('tells that there was nothing before an insert', () => {
    const event = anEvent({ operationType: 'insert', fullDocument: document });
    expect(changeOf(event, 'markets')).toEqual({ kind: 'stored', id: 'a', document, before: {} });
  });

  it.each(['update', 'replace', 'delete'])(
    'tells what was before a %s, if known',
    (operationType) => {
      const before = { eventId: 'e' };
      const event = anEvent({ operationType, fullDocumentBeforeChange: before });
      expect(changeOf(event, 'markets')).toMatchObject({ before });
      const unknown = anEvent({ operationType, fullDocumentBeforeChange: null });
      expect(changeOf(unknown, 'markets')).not.toHaveProperty('before');
    },
  );

  it.each([null, undefined])('tells the fields where the document is %s', (fullDocument) => {
    const updateDescription = { updatedFields: { eventId: 'f' }, removedFields: ['name'] };
    expect(changeOf(anEvent({ fullDocument, updateDescription }), 'markets')).toEqual({
      kind: 'altered',
      id: 'a',
      fields: { eventId: 'f' },
    });
  });

  it('tells of a deletion', () => {
    expect(changeOf(anEvent({ operationType: 'delete' }), 'markets')).toEqual({
      kind: 'deleted',
      id: 'a',
    });
  });

  it.each([
    ['drop', {}],
    ['rename', { to: { coll: 'elsewhere' } }],
    ['rename', { ns: { coll: 'elsewhere' }, to: { coll: 'markets' } }],
  ])('tells that all is another after a %s %j', (operationType, names) => {
    const event = anEvent({ operationType, documentKey: undefined, ...names });
    expect(changeOf(event, 'markets')).toEqual({ kind: 'collectionReplaced' });
  });

  it.each([
    [{ ns: { coll: 'api_keys' }, fullDocument: document }],
    [{ operationType: 'rename', ns: { coll: 'api_keys' }, to: { coll: 'elsewhere' } }],
    [{ operationType: 'invalidate', ns: undefined }],
    [{ operationType: 'createIndexes' }],
  ])('has nothing to tell of %j', (event) => {
    expect(changeOf(anEvent(event), 'markets')).toBeUndefined();
  });
});
