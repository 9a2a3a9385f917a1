import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { RequestCost } from '../../api-keys/request-limit.js';
import { MARKETS } from '../../common/collections.js';
import { Database } from '../../database/database.js';
import { ApiKeyed, header } from '../../http/api-problems.decorator.js';
import type { ApiRequest, KeyedRequest } from '../../http/api-request.js';
import { Input, inputOf } from '../../http/input/input.js';
import { sendBody } from '../send-answer.js';
import { UnsentAnswers } from '../unsent-answers.js';
import { Changes, EXAMPLE_CURSOR } from './changes.dto.js';
import { ChangesService } from './changes.service.js';
import { readCursor } from './cursor.js';
import { StreamHub } from './stream-hub.js';
import { StreamQuery, WatchQuery } from './watch-query.dto.js';
import { WatchQuestion } from './watch-question.js';
import { Watch } from './watch.js';

const EVENTS = `event: changes
data: {"data":[{"fixtureId":"demo-fixture-1","reset":true,"changed":[],"removed":[]}]}

event: current
id: ${EXAMPLE_CURSOR}
data: {"ageMs":8}
`;

const cacheControl = (value: string) => ({
  'Cache-Control': header('It is true for a moment only: not to be stored.', value),
});

/** What a request costs. One that will be refused for its form counts as one. */
const costOf = (type: new () => WatchQuery) => (request: ApiRequest) => {
  try {
    return inputOf(request, type).cost;
  } catch {
    return 1;
  }
};

@ApiTags('Markets')
@Controller('v1/markets')
export class WatchController {
  constructor(
    private readonly changes: ChangesService,
    private readonly streams: StreamHub,
    private readonly database: Database,
    private readonly unsent: UnsentAnswers,
  ) {}

  @Get('changes')
  @RequestCost(costOf(WatchQuery))
  @ApiOperation({
    summary: 'List the markets of many ids, or only what is new since a cursor',
    description:
      'Counts as one request for up to ten ids, as two for up to twenty, and so on. On `reset` drop what you have of that id, put `changed` by `_id`, delete `removed`.',
  })
  @ApiOkResponse({
    description: 'What is new, all of one moment.',
    type: Changes,
    headers: cacheControl('private, no-store'),
  })
  @ApiKeyed('too_much_data')
  async listChanges(
    @Input() query: WatchQuery,
    @Req() request: KeyedRequest,
    @Res() response: Response,
  ): Promise<void> {
    const question = this.question(request, query, query.since);
    const body = await this.changes.answer(question, request);
    this.unsent.add(request, response, body);
    await sendBody(request, response, body, ['Cache-Control', 'private, no-store']);
  }

  @Get('stream')
  @RequestCost(costOf(StreamQuery))
  @ApiOperation({
    summary: 'Stream what changes, as server-sent events',
    description:
      'First a snapshot, or what is new since the cursor; `current` says that it is whole. Then `changes` as they happen. The last event is `end`, whose `reason` is `draining`, `age`, `late`, `size` or `key`. The `data` of `changes` holds groups as in `/v1/markets/changes`. Opening counts as `/v1/markets/changes` does.',
  })
  @ApiProduces('text/event-stream')
  @ApiOkResponse({
    description: 'Events `changes`, `current` and `late`; the last one is `end`.',
    content: { 'text/event-stream': { schema: { type: 'string', example: EVENTS } } },
    headers: cacheControl('private, no-store, no-transform'),
  })
  @ApiKeyed('too_much_data', 'too_many_streams', 'changes_unavailable')
  async streamChanges(
    @Input() query: StreamQuery,
    @Req() request: KeyedRequest,
    @Res() response: Response,
  ): Promise<void> {
    const { since, 'Last-Event-ID': lastEventId, conflateMs } = query;
    const question = this.question(request, query, lastEventId ?? since);
    await this.streams.open(request, response, question, conflateMs);
  }

  private question(request: KeyedRequest, query: WatchQuery, cursor: string | undefined) {
    const isStream = query instanceof StreamQuery;
    const watch = new Watch(query.scopes, query, `${this.database.connection.name}.${MARKETS}`);
    return new WatchQuestion(watch, readCursor(cursor), request.startedAt, isStream);
  }
}
