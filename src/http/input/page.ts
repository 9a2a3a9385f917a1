import { ApiProperty } from '@nestjs/swagger';
import { QueryInteger } from './parameters.js';

export const TAKE_MAX = 100;

/** Which page of a list is wanted. */
export interface PageQuery {
  readonly page: number;
  readonly take: number;
}

export const PAGE_DEFAULTS: PageQuery = { page: 1, take: 10 };

export const QueryPage = (): PropertyDecorator =>
  QueryInteger({
    description: 'Which page, starting at 1.',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    default: PAGE_DEFAULTS.page,
  });

export const QueryTake = (): PropertyDecorator =>
  QueryInteger({
    description: 'Items per page.',
    minimum: 1,
    maximum: TAKE_MAX,
    default: PAGE_DEFAULTS.take,
  });

/** Where a page stands in its list. */
export class PageMeta {
  @ApiProperty({
    description: 'This page, starting at 1.',
    type: 'integer',
    minimum: 1,
    example: 1,
  })
  readonly page!: number;

  @ApiProperty({
    description: 'Items per page that were asked for.',
    type: 'integer',
    minimum: 1,
    maximum: TAKE_MAX,
    example: 10,
  })
  readonly take!: number;

  @ApiProperty({
    description: 'All items that match, on whatever page.',
    type: 'integer',
    minimum: 0,
    example: 23,
  })
  readonly itemCount!: number;

  @ApiProperty({
    description: 'Number of pages; 0 when nothing matches.',
    type: 'integer',
    minimum: 0,
    example: 3,
  })
  readonly pageCount!: number;

  @ApiProperty({ description: 'Whether an earlier page exists.', example: false })
  readonly hasPreviousPage!: boolean;

  @ApiProperty({ description: 'Whether a later page exists.', example: true })
  readonly hasNextPage!: boolean;
}

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
