import { Reflector } from '@nestjs/core';

/** Opens a route to callers without a key. Every other route is protected. */
export const Public = Reflector.createDecorator<void, true>({ transform: () => true });
