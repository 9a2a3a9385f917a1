import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import type { ApiRequest, RawQuery } from '../api-request.js';
import { Problem, type RequestFault } from '../problem.js';
import { listParameters } from './parameter.js';
import { readInput } from './read-input.js';

/** An input class with rules over several of its parameters. */
export interface CheckedInput {
  /** What is wrong with the parameters together, each of which is right. */
  check(query: RawQuery): readonly RequestFault[];
}

/**
 * Makes the object for `@Input()`, or reports every fault of the request at once.
 * @throws Problem `invalid_request`
 */
@Injectable()
export class InputPipe implements PipeTransform<ApiRequest> {
  transform(request: ApiRequest, { metatype, type }: ArgumentMetadata): unknown {
    if (type !== 'custom' || !metatype) return request;
    const { values, faults } = readInput(request, listParameters(metatype));
    const input: object & Partial<CheckedInput> = Object.assign(new metatype(), values);
    const named = new Set(faults.map(({ name }) => name));
    const together = input.check?.(request.rawQuery) ?? [];
    const all = [...faults, ...together.filter(({ name }) => !named.has(name))];
    if (all.length === 0) return input;
    const count = all.length === 1 ? '1 fault' : `${all.length} faults`;
    throw new Problem('invalid_request', `The request has ${count}.`, { errors: all });
  }
}
