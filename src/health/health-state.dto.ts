import { ApiProperty } from '@nestjs/swagger';

export class HealthState {
  @ApiProperty({
    description: 'What the probe found.',
    enum: ['alive', 'ready'],
    example: 'ready',
  })
  readonly status!: 'alive' | 'ready';
}
