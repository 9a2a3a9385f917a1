import { ApiProperty } from '@nestjs/swagger';
import { ApiField } from '../../http/api-field.decorator.js';
import { Market } from '../market.schema.js';

export const EXAMPLE_CURSOR = 'AWkgAAsAAAACa1n_eYwNMBSqiFG5';

/** What is new under one id. */
class ChangesGroup {
  @ApiField(
    'The fixture id that it is about, if it was asked for by that name.',
    'demo-fixture-1',
    {
      required: false,
    },
  )
  readonly fixtureId?: string;

  @ApiField('The event id that it is about, if it was asked for by that name.', 'nb-1001', {
    required: false,
  })
  readonly eventId?: string;

  @ApiField('Whether `changed` is all there is: drop what you have of this id.', false)
  readonly reset!: boolean;

  @ApiProperty({ description: 'Markets as they are now: put them by `_id`.', type: [Market] })
  readonly changed!: Market[];

  @ApiField(
    'The `_id`s of markets that are gone: delete them. You may never have had some.',
    ['692000000000000000000007'],
    { type: [String] },
  )
  readonly removed!: string[];
}

class ChangesMeta {
  @ApiField('Opaque: ask with it as `since` for what is new from here on.', EXAMPLE_CURSOR, {
    maxLength: 256,
  })
  readonly cursor!: string;

  @ApiProperty({
    description: 'All that was written more than so many milliseconds ago is in the answer.',
    type: 'integer',
    minimum: 0,
    example: 12,
  })
  readonly ageMs!: number;
}

/** What is new of a watch, all of one moment. */
export class Changes {
  @ApiProperty({
    description:
      'One group for each id with news, in the order asked; without `since`, one for each id.',
    type: [ChangesGroup],
  })
  readonly data!: ChangesGroup[];

  @ApiProperty({
    description: 'Where to go on from, and how old the answer may be.',
    type: ChangesMeta,
  })
  readonly meta!: ChangesMeta;
}
