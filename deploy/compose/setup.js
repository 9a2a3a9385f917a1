/* global Mongo, sleep -- of mongosh, which runs this: see docker-compose.yml */

/**
 * Makes the replica set, the roles and the users. Run at each start: what is there is brought up to date,
 * passwords included.
 */
const { readFileSync } = require('fs');

const HOST = 'mongo:27017';
const REPLICA_SET = 'rs0';
const SECONDS_TO_COME_UP = 120;
const ALREADY_INITIALIZED = 23;

const secret = (name) => readFileSync(`/run/secrets/${name}`, 'utf8').trim();
const roles = JSON.parse(readFileSync('/setup/roles.json', 'utf8'));

/** A user is what its connection string says: one place for its name, password and database. */
function userOf(secretName) {
  const uri = new URL(/^MONGODB_URI=(.*)$/m.exec(secret(secretName))[1]);
  return {
    user: decodeURIComponent(uri.username),
    pwd: decodeURIComponent(uri.password),
    database: uri.pathname.slice(1),
  };
}

function until(wanted, attempt) {
  for (let second = 0; second < SECONDS_TO_COME_UP; second += 1) {
    try {
      const result = attempt();
      if (result) return result;
    } catch (error) {
      if (second === SECONDS_TO_COME_UP - 1) throw error;
    }
    sleep(1000);
  }
  throw new Error(`${wanted} did not come about within ${SECONDS_TO_COME_UP} s`);
}

function connect() {
  const password = encodeURIComponent(secret('mongo-root-password'));
  return new Mongo(`mongodb://root:${password}@${HOST}/?directConnection=true`).getDB('admin');
}

function initiateReplicaSet(admin) {
  try {
    const members = [{ _id: 0, host: HOST }];
    admin.runCommand({ replSetInitiate: { _id: REPLICA_SET, members } });
  } catch (error) {
    if (error.code !== ALREADY_INITIALIZED) throw error;
  }
  until('A primary', () => admin.runCommand({ hello: 1 }).isWritablePrimary);
}

function putRole(db, role) {
  const privileges = roles[role].map(({ collection, actions }) => ({
    resource: { db: db.getName(), collection },
    actions,
  }));
  if (db.getRole(role)) db.updateRole(role, { privileges, roles: [] });
  else db.createRole({ role, privileges, roles: [] });
}

function putUser(admin, secretName, role) {
  const { user, pwd, database } = userOf(secretName);
  const db = admin.getSiblingDB(database);
  putRole(db, role);
  if (db.getUser(user)) db.updateUser(user, { pwd, roles: [role] });
  else db.createUser({ user, pwd, roles: [role] });
  print(`user ${user}: ${role} on ${database}`);
}

const admin = until(`A connection to ${HOST}`, connect);
initiateReplicaSet(admin);
putUser(admin, 'service.env', 'marketsService');
putUser(admin, 'operator.env', 'marketsOperator');
