#!/bin/sh
# Writes to stdout the list (CycloneDX) of the packages that the image holds.
# Not by `npm sbom --omit=dev` alone: that leaves out whatever a development tool needs, too, such as express.
set -eu
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp package.json package-lock.json "$folder"
cd "$folder"
npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund >&2
npm pkg delete devDependencies
npm sbom --sbom-format=cyclonedx
