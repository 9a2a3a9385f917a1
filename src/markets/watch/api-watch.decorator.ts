import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces } from '@nestjs/swagger';
import { ApiKeyed, textHeader } from '../../http/api-problems.decorator.js';
import { Changes } from './changes.dto.js';

const EVENTS = `event: changes
data: {"data":[{"fixtureId":"demo-fixture-1","reset":true,"changed":[],"removed":[]}]}

event: current
id: AWkgAAsAAAACa1n_eYwNMBTF7vmQ
data: {"ageMs":8}
`;

const cacheControl = (value: string) => ({
  'Cache-Control': textHeader('Each answer is of its moment.', value),
});

/** Documents `/v1/markets/changes`. */
export function ApiChanges(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      summary: 'List the markets of many ids, or only what is new since a cursor',
      description:
        'Counts as one request for every ten ids begun. On `reset` drop what you have of that id, put `changed` by `_id`, delete `removed`.',
    }),
    ApiOkResponse({
      description: 'What is new, all of one moment.',
      type: Changes,
      headers: cacheControl('private, no-store'),
    }),
    ApiKeyed('too_much_data'),
  );
}

/** Documents `/v1/markets/stream`. */
export function ApiStream(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      summary: 'Stream what changes, as server-sent events',
      description:
        'First a snapshot, or what is new since the cursor; `current` says that it is whole. Then `changes` as they happen. The `data` of `changes` holds groups as in `/v1/markets/changes`. Opening counts as one request for every ten ids begun.',
    }),
    ApiProduces('text/event-stream'),
    ApiOkResponse({
      description: 'Events `changes`, `current`, `late` and `end`, without end.',
      content: { 'text/event-stream': { schema: { type: 'string', example: EVENTS } } },
      headers: cacheControl('private, no-store, no-transform'),
    }),
    ApiKeyed('too_much_data', 'too_many_streams', 'changes_unavailable'),
  );
}
