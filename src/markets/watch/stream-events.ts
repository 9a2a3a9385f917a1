import { withGroups } from './group.js';

/** Why a stream ends, as its last event says. */
export const END_REASONS = ['draining', 'key', 'age', 'late', 'size'] as const;
export type EndReason = (typeof END_REASONS)[number];

/** Why a stream ended: callers who don't read or leave are told nothing. */
export const STREAM_ENDS = [...END_REASONS, 'unread', 'left'] as const;
export type StreamEnd = (typeof STREAM_ENDS)[number];

/** The events of a stream, as text/event-stream has them. A cursor makes an id, from which a caller resumes. */
export const streamEvents = {
  retry: (ms: number) => `retry: ${ms}\n`,
  changes: (groups: readonly Buffer[], cursor?: string) =>
    withGroups(beforeData('changes', cursor), groups, '}\n\n'),
  current: (ageMs: number, cursor: string) => event('current', ageText(ageMs), cursor),
  late: (ageMs: number) => event('late', ageText(ageMs)),
  end: (reason: EndReason) => event('end', JSON.stringify({ reason })),
};

/** @param data JSON, which has no line breaks */
function event(name: string, data: string, cursor?: string): string {
  return `${beforeData(name, cursor)}${data}\n\n`;
}

function beforeData(name: string, cursor: string | undefined): string {
  return `event: ${name}\n${cursor === undefined ? '' : `id: ${cursor}\n`}data: `;
}

function ageText(ageMs: number): string {
  return JSON.stringify({ ageMs: Math.ceil(ageMs) });
}
