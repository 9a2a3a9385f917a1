import { ApiField } from '../api-field.decorator.js';

export const TAKE_MAX = 100;

/** Without a format generated clients use 32 bits. */
const COUNT = { type: 'integer', format: 'int64' } as const;

/** Where a page stands in its list. */
export class PageMeta {
  @ApiField('This page, starting at 1.', 1, { ...COUNT, minimum: 1 })
  readonly page!: number;

  @ApiField('Items per page that were asked for.', 10, {
    type: 'integer',
    minimum: 1,
    maximum: TAKE_MAX,
  })
  readonly take!: number;

  @ApiField('All items that match, on whatever page.', 23, { ...COUNT, minimum: 0 })
  readonly itemCount!: number;

  @ApiField('Number of pages; 0 when nothing matches.', 3, { ...COUNT, minimum: 0 })
  readonly pageCount!: number;

  @ApiField('Whether an earlier page exists.', false)
  readonly hasPreviousPage!: boolean;

  @ApiField('Whether a later page exists.', true)
  readonly hasNextPage!: boolean;
}

/** Which page of a list is wanted. */
export type PageQuery = Pick<PageMeta, 'page' | 'take'>;

export function pageMeta({ page, take }: PageQuery, itemCount: number): PageMeta {
  const pageCount = Math.ceil(itemCount / take);
  return {
    page,
    take,
    itemCount,
    pageCount,
    hasPreviousPage: page > 1 && pageCount > 0,
    hasNextPage: page < pageCount,
  };
}
