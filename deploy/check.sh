#!/bin/sh
# Checks everything that ships, as far as that goes without Docker and Kubernetes. A program that is not
# installed is named and skipped; with CI set, it is a failure. docs/deployment.md says where to get them.
set -eu
cd "$(dirname "$0")/.."

check() {
  if command -v "$1" >/dev/null; then
    echo "$*"
    "$@"
  else
    echo "skipped: $1 is not installed"
    [ -z "${CI:-}" ]
  fi
}

check hadolint Dockerfile
check actionlint
check yamllint --strict -c deploy/.yamllint.yaml docker-compose.yml deploy .github

built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
for folder in base prometheus db-init; do
  check kustomize build "deploy/kubernetes/$folder" -o "$built/$folder.yaml"
done
if [ -e "$built/base.yaml" ]; then
  # Of Kubernetes' own kinds; the PodMonitor is not one.
  check kubernetes-validate --strict --quiet "$built/base.yaml" "$built/db-init.yaml"
else
  echo "skipped: kubernetes-validate, which needs what kustomize builds"
fi

if docker compose version >/dev/null 2>&1; then
  check docker compose --profile commands config --quiet
else
  check docker-compose --profile commands config --quiet
fi
