import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiProblems } from '../http/api-problems.decorator.js';
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
  @ApiProblems()
  @Header('Cache-Control', 'no-store')
  live(): LiveState {
    return { status: 'alive' };
  }

  @Get('ready')
  @ApiOperation({ summary: 'Whether look-ups can be answered' })
  @ApiOkResponse({ description: 'Ready.', type: ReadyState })
  @ApiProblems('database_unavailable')
  @Header('Cache-Control', 'no-store')
  async ready(): Promise<ReadyState> {
    await this.readiness.check();
    return this.readiness.state();
  }
}
