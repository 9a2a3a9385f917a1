import type { CurvePoint } from './load-curve.js';
import type { SizePoint } from './size-curve.js';
import { drawChart, type Series } from './svg-chart.js';

const RATE_MARKS = [250, 500, 1_000, 2_000, 4_000, 8_000, 12_000];
const LATENCY_MARKS = [0.1, 1, 10, 100, 1_000];

/** Half of the answers come sooner than the full line, 99 of 100 sooner than the dashed one; a line ends where more than 1 % are refused. */
export function drawLoadCurve(points: readonly CurvePoint[]): string {
  const names = [...new Set(points.map(nameOf))];
  const series = names.flatMap((name, colour): Series[] => {
    const own = points.filter((point) => nameOf(point) === name);
    const lineOf = (quantile: 'p50' | 'p99') =>
      own.map((point) => [point.perSecond, point[quantile]] as const);
    return [
      { name: `${name}: p50`, colour, points: lineOf('p50') },
      { name: `${name}: p99`, colour, dashed: true, points: lineOf('p99') },
    ];
  });
  return drawChart({
    title: 'Latency against load',
    xLabel: 'requests a second, sent without waiting for answers',
    yLabel: 'ms',
    xMarks: RATE_MARKS,
    yMarks: LATENCY_MARKS,
    series,
  });
}

function nameOf({ scenario, contender }: CurvePoint): string {
  return `${contender}, ${scenario.name}`;
}

export function drawSizeCurve(points: readonly SizePoint[]): string {
  const lineOf = (property: keyof SizePoint) =>
    points.map((point) => [point.markets, point[property]] as const);
  return drawChart({
    title: 'Cost of a page against the size of the collection',
    xLabel: 'markets',
    yLabel: 'for each page',
    xMarks: [100_000, 1_000_000, 10_000_000],
    yMarks: [1, 10, 100, 1_000, 10_000],
    series: [
      { name: 'processor time of service and mongod, µs', colour: 0, points: lineOf('cpuMicros') },
      {
        name: 'time until the answer (p50), µs',
        colour: 1,
        points: points.map(({ markets, p50 }) => [markets, p50 * 1_000] as const),
      },
      { name: 'documents read by mongod', colour: 2, points: lineOf('documentsExamined') },
      { name: 'index entries read by mongod', colour: 3, points: lineOf('keysExamined') },
    ],
  });
}
