import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { PageMeta } from '../http/input/page.js';
import { Market } from './market.schema.js';
import { listFields, type StoredFieldRule } from './stored-field.decorator.js';

documentFields(Market);

/** One page of markets. */
export class MarketsPage {
  @ApiProperty({ description: 'The markets of this page, ascending by `_id`.', type: [Market] })
  readonly data!: Market[];

  @ApiProperty({ description: 'Where the page stands in the whole list.', type: PageMeta })
  readonly meta!: PageMeta;
}

/** Documents a class of stored fields for OpenAPI. Their decorator does not, so that commands load no Swagger. */
function documentFields(type: new () => object): void {
  for (const field of listFields(type)) {
    ApiPropertyOptional(documentation(field))(type.prototype as object, field.name);
    if (field.of) documentFields(field.of);
  }
}

function documentation(field: StoredFieldRule): ApiPropertyOptions {
  const { kind, of, description, example, values } = field;
  if (kind === 'list') return { description, type: of, isArray: true };
  if (kind === 'price') return { description, example, type: 'number' };
  if (kind === 'date') return { description, example, type: 'string', format: 'date-time' };
  if (!values) return { description, example, type: 'string' };
  return {
    description,
    example,
    anyOf: [{ type: 'string', enum: [...values] }, { type: 'string' }],
  };
}
