import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import type { ApiRequest, RawQuery } from '../api-request.js';
import { Problem, type RequestFault } from '../problem.js';
import { listParameters } from './parameter.js';
import { readInput } from './read-input.js';

/** An input class with rules over several of its parameters. */
export interface CheckedInput {
  /**
   * What is wrong with several parameters together.
   * @param faulty the names of those that are wrong by themselves, and have been reported
   */
  check(query: RawQuery, faulty: ReadonlySet<string>): readonly RequestFault[];
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
    const faulty = new Set(faults.map(({ name }) => name));
    const errors = [...faults, ...(input.check?.(request.rawQuery, faulty) ?? [])];
    if (errors.length === 0) return input;
    const count = errors.length === 1 ? '1 fault' : `${errors.length} faults`;
    throw new Problem('invalid_request', `The request has ${count}.`, { errors });
  }
}
