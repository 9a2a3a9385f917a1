import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/** Documents a property of an answer: what it is, and an example. */
export function ApiField(
  description: string,
  example: unknown,
  schema: ApiPropertyOptions = {},
): PropertyDecorator {
  return ApiProperty({ description, example, ...schema });
}
