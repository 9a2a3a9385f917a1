import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { FEED_STATES, LATE_REASONS, type FeedStatus } from '../change-feed/feed-progress.js';
import { ApiField } from '../http/api-field.decorator.js';

const SECONDS = { type: 'number', format: 'double', minimum: 0 } as const;

export class LiveState {
  @ApiField('What the probe found.', 'alive', { enum: ['alive'] })
  readonly status!: 'alive';
}

class ChangeFeedState {
  @ApiField(
    'While it is `current`, answers can come from memory. While it is `late` or `blind` they are right as well, but each asks MongoDB.',
    'current',
    { enum: FEED_STATES },
  )
  readonly state!: FeedStatus['state'];

  @ApiField(
    'Why the feed is late. `majority_lags`: the primary has writes that a majority of the members lacks. `no_answer`: MongoDB has not answered it. `backlog`: there are more changes than it can tell in time.',
    'majority_lags',
    { enum: LATE_REASONS, required: false },
  )
  readonly lateBecause?: FeedStatus['lateBecause'];

  @ApiField(
    'Seconds since the feed was last known to have told every change. Left out while that is not known.',
    0.027,
    { ...SECONDS, required: false },
  )
  readonly ageSeconds?: number;
}

class NewestChange {
  @ApiField("When it was made, by MongoDB's clock.", '2026-11-21T07:03:00.044Z', {
    format: 'date-time',
  })
  readonly at!: string;

  @ApiField('How long ago that was.', 3.205, SECONDS)
  readonly ageSeconds!: number;
}

export class ReadyState {
  @ApiField('What the probe found.', 'ready', { enum: ['ready'] })
  readonly status!: 'ready';

  @ApiProperty({ description: 'How well this process knows what changes in MongoDB.' })
  readonly changeFeed!: ChangeFeedState;

  @ApiPropertyOptional({
    description:
      'The newest change of markets that this process was told. Left out if there was none since it started.',
  })
  readonly newestChange?: NewestChange;
}
