import { withGroups } from './group.js';

/** Why a stream ends, as its last event says. */
const END_REASONS = ['draining', 'key', 'age', 'late', 'size'] as const;
export type EndReason = (typeof END_REASONS)[number];

/** Why a stream ended. A client that does not read, or has left, is told nothing. */
export const STREAM_ENDS = [...END_REASONS, 'unread', 'left'] as const;
export type StreamEnd = (typeof STREAM_ENDS)[number];

/** The events of a stream, as text/event-stream. A cursor is the event's id, from which a client can resume. */
export const streamEvents = {
  retry: (ms: number) => `retry: ${ms}\n`,
  /** Piece by piece, since clients share the groups: a copy for each would fill memory. */
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
