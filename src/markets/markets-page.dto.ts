import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
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
    ApiProperty(documentation(field))(type.prototype as object, field.name);
    if (field.of) documentFields(field.of);
  }
}

function documentation(field: StoredFieldRule): ApiPropertyOptions {
  const { kind, of, description: what, example, values } = field;
  // What others have stored may lack any other field.
  const required = kind === 'objectId';
  const usual = values?.map((value) => `\`${value}\``).join(', ');
  const description = usual ? `${what} As a rule one of ${usual}.` : what;
  if (kind === 'list') return { description, required, type: of, isArray: true };
  const documented = { description, required, example };
  if (kind === 'price') return { ...documented, type: 'number', format: 'double' };
  if (kind === 'date') return { ...documented, type: 'string', format: 'date-time' };
  // No list of values: others are served as well, and generated clients refuse or misread what is not listed.
  return { ...documented, type: 'string' };
}
