/** One line of a chart. */
export interface Series {
  readonly name: string;
  readonly dashed?: boolean;
  /** Which of the colours: lines of one colour belong together. */
  readonly colour: number;
  readonly points: readonly (readonly [x: number, y: number])[];
}

interface Chart {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** Both axes are logarithmic, from the first mark to the last. */
  readonly xMarks: readonly number[];
  readonly yMarks: readonly number[];
  readonly series: readonly Series[];
}

const WIDTH = 720;
const PLOT = { left: 64, top: 40, right: 704, bottom: 300 };
const LEGEND_TOP = 358;
const LEGEND_STEP = 20;
const COLOURS = ['#0b6bcb', '#c2410c', '#15803d', '#7c3aed'];

/** Draws lines over logarithmic axes, readable on light and dark pages. */
export function drawChart({ title, xLabel, yLabel, xMarks, yMarks, series }: Chart): string {
  const x = logScale(xMarks, PLOT.left, PLOT.right);
  const y = logScale(yMarks, PLOT.bottom, PLOT.top);
  const height = LEGEND_TOP + series.length * LEGEND_STEP;
  const middle = (PLOT.left + PLOT.right) / 2;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<title>${escape(title)}</title>`,
    '<style>text{fill:#333}.grid{stroke:#ddd}@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}}</style>',
    `<text x="${middle}" y="22" text-anchor="middle" font-size="15">${escape(title)}</text>`,
    ...xMarks.map((mark) => verticalLine(x(mark), mark)),
    ...yMarks.map((mark) => horizontalLine(y(mark), mark)),
    `<text x="${middle}" y="${PLOT.bottom + 38}" text-anchor="middle">${escape(xLabel)}</text>`,
    `<text transform="translate(16 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)" text-anchor="middle">${escape(yLabel)}</text>`,
    ...series.map((each) => line(each, x, y)),
    ...series.map((each, index) => legend(each, LEGEND_TOP + index * LEGEND_STEP)),
    '</svg>',
    '',
  ].join('\n');
}

type Scale = (value: number) => number;

/** Values beyond the axis stay at its end. */
function logScale(marks: readonly number[], start: number, end: number): Scale {
  const first = Math.log(marks[0] ?? 1);
  const last = Math.log(marks.at(-1) ?? 10);
  return (value) => {
    const share = Math.min(1, Math.max(0, (Math.log(value) - first) / (last - first)));
    return Math.round((start + share * (end - start)) * 10) / 10;
  };
}

function verticalLine(x: number, mark: number): string {
  return (
    `<path class="grid" d="M${x} ${PLOT.top}V${PLOT.bottom}"/>` +
    `<text x="${x}" y="${PLOT.bottom + 18}" text-anchor="middle">${mark.toLocaleString('en')}</text>`
  );
}

function horizontalLine(y: number, mark: number): string {
  return (
    `<path class="grid" d="M${PLOT.left} ${y}H${PLOT.right}"/>` +
    `<text x="${PLOT.left - 8}" y="${y + 4}" text-anchor="end">${mark.toLocaleString('en')}</text>`
  );
}

function line({ points, ...series }: Series, x: Scale, y: Scale): string {
  const path = points.map(([px, py], index) => `${index === 0 ? 'M' : 'L'}${x(px)} ${y(py)}`);
  const dots = points.map(
    ([px, py]) => `<circle cx="${x(px)}" cy="${y(py)}" r="2.5" fill="${colourOf(series)}"/>`,
  );
  return `<path d="${path.join('')}" ${stroke(series)}/>${dots.join('')}`;
}

function legend({ name, ...series }: Series, y: number): string {
  return (
    `<path d="M${PLOT.left} ${y}h28" ${stroke(series)}/>` +
    `<text x="${PLOT.left + 36}" y="${y + 4}">${escape(name)}</text>`
  );
}

function colourOf({ colour }: Pick<Series, 'colour'>): string {
  return COLOURS[colour % COLOURS.length] ?? '';
}

function stroke(series: Pick<Series, 'colour' | 'dashed'>): string {
  const dashes = series.dashed ? ' stroke-dasharray="6 4"' : '';
  return `fill="none" stroke="${colourOf(series)}" stroke-width="2"${dashes}`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
