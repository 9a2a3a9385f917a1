#!/bin/sh
# Makes the passwords that docker-compose.yml needs, once: those that are there stay.
set -eu

folder=$(dirname "$0")/secrets
database=mongo:27017/markets-odds?replicaSet=rs0

password() { head -c 512 /dev/urandom | LC_ALL=C tr -dc 'A-Za-z0-9' | cut -c 1-32; }

put() {
  if [ -s "$folder/$1" ]; then
    echo "$folder/$1 is there already"
    return
  fi
  # Containers read the files under users of their own; the folder keeps the other users of this machine out.
  printf '%s\n' "$2" >"$folder/$1"
  chmod 644 "$folder/$1"
  echo "$folder/$1 made"
}

mkdir -p "$folder"
chmod 700 "$folder"
put mongo-root-password "$(password)"
put service.env "MONGODB_URI=mongodb://markets-service:$(password)@$database"
put operator.env "MONGODB_URI=mongodb://markets-operator:$(password)@$database"
