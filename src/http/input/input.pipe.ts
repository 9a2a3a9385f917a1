import { Injectable, type ArgumentMetadata, type PipeTransform, type Type } from '@nestjs/common';
import { validateSync } from 'class-validator';
import type { ApiRequest } from '../api-request.js';
import { Problem } from '../problem.js';
import type { RequestFault } from '../problem-body.dto.js';
import { listParameters, type Parameter } from './parameter.js';
import { readInput } from './read-input.js';

/**
 * Makes the object for `@Input()`, or reports every fault of the request at once. The class may take the query as
 * it was sent in its constructor.
 * @throws Problem `invalid_request`
 */
@Injectable()
export class InputPipe implements PipeTransform<ApiRequest> {
  transform(request: ApiRequest, metadata: ArgumentMetadata): object {
    const metatype = metadata.metatype as Type<object>;
    const parameters = listParameters(metatype);
    const { values, faults } = readInput(request, parameters);
    const input = Object.assign(new metatype(request.rawQuery), values);
    const errors = [...faults, ...brokenRules(input, parameters)];
    if (errors.length === 0) return input;
    const count = errors.length === 1 ? '1 fault' : `${errors.length} faults`;
    throw new Problem('invalid_request', `The request has ${count}.`, { errors });
  }
}

/** Judges the values that could be read. A rule over several parameters names one of them as its `context`. */
function brokenRules(input: object, parameters: readonly Parameter[]): RequestFault[] {
  const errors = validateSync(input, { stopAtFirstError: true, skipMissingProperties: true });
  return errors.map(({ property, constraints, contexts = {} }) => {
    const parameter = parameters.find((candidate) => candidate.property === property);
    const { name, in: where } = parameter ?? (Object.values(contexts)[0] as Parameter);
    return { in: where, name, detail: Object.values(constraints ?? {}).join(', ') };
  });
}
