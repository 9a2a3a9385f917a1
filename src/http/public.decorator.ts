import { SetMetadata, type CustomDecorator } from '@nestjs/common';

export const IS_PUBLIC = Symbol('isPublic');

/** Opens a route to callers without a key. Every other route is protected. */
export function Public(): CustomDecorator<symbol> {
  return SetMetadata(IS_PUBLIC, true);
}
