import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { RequestLimit } from '../../api-keys/request-limit.js';
import { MARKETS } from '../../common/collections.js';
import { Database } from '../../database/database.js';
import type { ApiRequest } from '../../http/api-request.js';
import { Input } from '../../http/input/input.js';
import { sendBody } from '../send-answer.js';
import { ApiChanges, ApiStream } from './api-watch.decorator.js';
import { ChangesService } from './changes.service.js';
import { readCursor } from './cursor.js';
import { StreamService } from './stream.service.js';
import { StreamQuery, WatchQuery } from './watch-query.dto.js';
import { WatchQuestion } from './watch-question.js';
import { Watch } from './watch.js';

@ApiTags('Markets')
@Controller('v1/markets')
export class WatchController {
  constructor(
    private readonly changes: ChangesService,
    private readonly streams: StreamService,
    private readonly limit: RequestLimit,
    private readonly database: Database,
  ) {}

  @Get('changes')
  @ApiChanges()
  async listChanges(
    @Input() query: WatchQuery,
    @Req() request: ApiRequest,
    @Res() response: Response,
  ): Promise<void> {
    const body = await this.changes.answer(await this.accept(request, query, query.since));
    await sendBody(request, response, body, ['Cache-Control', 'private, no-store']);
  }

  @Get('stream')
  @ApiStream()
  async streamChanges(
    @Input() query: StreamQuery,
    @Req() request: ApiRequest,
    @Res() response: Response,
  ): Promise<void> {
    const { since, lastEventId, conflateMs } = query;
    const question = await this.accept(request, query, lastEventId ?? since);
    await this.streams.open(request, response, question, conflateMs);
  }

  /** Charges the limit of the key, then gives the question. */
  private async accept(
    request: ApiRequest,
    query: WatchQuery,
    cursor: string | undefined,
  ): Promise<WatchQuestion> {
    const watch = new Watch(query.ids, query, `${this.database.connection.name}.${MARKETS}`);
    await this.limit.charge(request, watch.cost);
    return new WatchQuestion(watch, readCursor(cursor), request.startedAt);
  }
}
