import { ApiProperty } from '@nestjs/swagger';
import { PageMeta } from '../http/input/page.js';
import { documentFields } from './document-fields.js';
import { Market } from './market.schema.js';

documentFields(Market);

/** One page of markets. */
export class MarketsPage {
  @ApiProperty({ description: 'The markets of this page, ascending by `_id`.', type: [Market] })
  readonly data!: Market[];

  @ApiProperty({ description: 'Where the page stands in the whole list.', type: PageMeta })
  readonly meta!: PageMeta;
}
