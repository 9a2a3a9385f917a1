import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiProblems } from '../http/api-problems.decorator.js';
import { Problem } from '../http/problem.js';
import { Public } from '../http/public.decorator.js';
import { LiveState, ReadyState } from './health-state.dto.js';
import { ReadinessService } from './readiness.service.js';

@Public()
@ApiTags('Health')
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: ReadinessService) {}

  @Get('live')
  @ApiOperation({ summary: 'Whether the process is alive; MongoDB is not asked' })
  @ApiOkResponse({ description: 'Alive.', type: LiveState })
  @ApiProblems('invalid_request', 'method_not_allowed')
  live(@Res() response: Response): void {
    this.send(response, { status: 'alive' });
  }

  @Get('ready')
  @ApiOperation({ summary: 'Whether look-ups can be answered' })
  @ApiOkResponse({ description: 'Ready.', type: ReadyState })
  @ApiProblems('invalid_request', 'method_not_allowed', 'database_unavailable')
  async ready(@Res() response: Response): Promise<void> {
    const reason = await this.readiness.reasonAgainst();
    if (reason) throw new Problem('database_unavailable', reason);
    this.send(response, this.readiness.state());
  }

  private send(response: Response, state: LiveState | ReadyState): void {
    response.setHeader('Cache-Control', 'no-store');
    response.json(state);
  }
}
