export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const [below = NaN, above = NaN] = [sorted[middle - 1], sorted[middle]];
  return sorted.length % 2 === 1 ? above : (below + above) / 2;
}

/** The value that this share of some sorted values does not exceed. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? NaN;
}

/** How much y grows with each unit of x: the line with the least squares. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (of: 0 | 1) => sum(points.map((point) => point[of])) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const both = sum(points.map(([x, y]) => (x - meanX) * (y - meanY)));
  return both / sum(points.map(([x]) => (x - meanX) ** 2));
}

/** 1,234 or 12.3: as many digits as tell something. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return '–';
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en', {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
  });
}
