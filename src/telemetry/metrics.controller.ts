import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiProblems } from '../http/api-problems.decorator.js';
import { Public } from '../http/public.decorator.js';
import { Metrics } from './metrics.js';

const EXAMPLE = `# HELP markets_cache_hits_total Look-ups answered from memory.
# TYPE markets_cache_hits_total counter
markets_cache_hits_total 1024
`;

@Public()
@ApiTags('Metrics')
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @ApiOperation({ summary: "The service's figures, in the text format of Prometheus" })
  @ApiOkResponse({
    description: 'Every metric with its help, type and values.',
    content: { 'text/plain': { schema: { type: 'string' }, example: EXAMPLE } },
  })
  @ApiProblems('internal_error')
  async scrape(@Res() response: Response): Promise<void> {
    const text = await this.metrics.text();
    const { contentType } = this.metrics.registry;
    response.set({ 'Content-Type': contentType, 'Cache-Control': 'no-store' }).send(text);
  }
}
