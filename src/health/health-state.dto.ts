import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { FEED_STATES, LATE_REASONS, type Standing } from '../change-feed/progress.js';

export class LiveState {
  @ApiProperty({ description: 'What the probe found.', enum: ['alive'], example: 'alive' })
  readonly status!: 'alive';
}

export class ChangeFeedState {
  @ApiProperty({
    description:
      'Whether answers can come from memory: `current`. While the feed is `late` or `blind` they are right as well, but each asks MongoDB.',
    enum: FEED_STATES,
    example: 'current',
  })
  readonly state!: Standing['state'];

  @ApiPropertyOptional({
    description:
      'Why the feed is late. `majority_lags`: the primary has writes that a majority of the members lacks. `no_answer`: MongoDB has not answered it. `backlog`: there are more changes than it can tell in time.',
    enum: LATE_REASONS,
    example: 'majority_lags',
  })
  readonly lateBecause?: Standing['lateBecause'];

  @ApiPropertyOptional({
    description:
      'Seconds since the feed was last known to have told every change. Left out while it is blind.',
    type: 'number',
    minimum: 0,
    example: 0.027,
  })
  readonly ageSeconds?: number;
}

export class NewestChange {
  @ApiProperty({
    description: "When it was made, by MongoDB's clock.",
    format: 'date-time',
    example: '2026-11-21T07:03:00.044Z',
  })
  readonly at!: string;

  @ApiProperty({
    description: 'How long ago that was.',
    type: 'number',
    minimum: 0,
    example: 3.205,
  })
  readonly ageSeconds!: number;
}

export class ReadyState {
  @ApiProperty({ description: 'What the probe found.', enum: ['ready'], example: 'ready' })
  readonly status!: 'ready';

  @ApiProperty({ description: 'How well this process knows what changes in MongoDB.' })
  readonly changeFeed!: ChangeFeedState;

  @ApiPropertyOptional({
    description:
      'The newest change of markets that this process was told. Left out if there was none since it started.',
  })
  readonly newestChange?: NewestChange;
}
