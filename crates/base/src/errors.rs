//! Error numbers of MySQL and MariaDB, by their names in the manual without ER_. What they mean
//! for whoever meets them is said there.

/// MariaDB, with innodb_snapshot_isolation: a locking read of a row changed since the snapshot.
pub const CHECKREAD: u16 = 1020;
/// Too many connections.
pub const CON_COUNT_ERROR: u16 = 1040;
/// Access to the schema denied.
pub const DBACCESS_DENIED_ERROR: u16 = 1044;
pub const ACCESS_DENIED_ERROR: u16 = 1045;
/// A node of a Galera cluster has no quorum, or has not caught up yet: "WSREP has not yet prepared
/// node for application use". A proxy does not know the command.
pub const UNKNOWN_COM_ERROR: u16 = 1047;
/// No such schema.
pub const BAD_DB_ERROR: u16 = 1049;
pub const SERVER_SHUTDOWN: u16 = 1053;
/// No such column.
pub const BAD_FIELD_ERROR: u16 = 1054;
/// No such table of information_schema.
pub const UNKNOWN_TABLE: u16 = 1109;
pub const HOST_NOT_PRIVILEGED: u16 = 1130;
/// Command denied.
pub const TABLEACCESS_DENIED_ERROR: u16 = 1142;
pub const NO_SUCH_TABLE: u16 = 1146;
/// local_infile is off, up to MySQL 5.7 and in MariaDB.
pub const NOT_ALLOWED_COMMAND: u16 = 1148;
/// Galera: the write set could not be certified, as while the cluster loses a node; the node has
/// rolled back. What failed certification, and what a write set of another node aborted, is a
/// deadlock (1213).
pub const ERROR_DURING_COMMIT: u16 = 1180;
pub const LOCK_WAIT_TIMEOUT: u16 = 1205;
pub const LOCK_DEADLOCK: u16 = 1213;
/// A privilege such as PROCESS is missing.
pub const SPECIFIC_ACCESS_DENIED_ERROR: u16 = 1227;
pub const NOT_SUPPORTED_YET: u16 = 1235;
/// The login method is older than the client's.
pub const NOT_SUPPORTED_AUTH_MODE: u16 = 1251;
pub const UNKNOWN_STORAGE_ENGINE: u16 = 1286;
/// The server runs with an option that lets nobody do this: --read-only, --super-read-only, but
/// --skip-grant-tables, --secure-file-priv and others, too. The message names it.
pub const OPTION_PREVENTS_STATEMENT: u16 = 1290;
pub const UNSUPPORTED_PS: u16 = 1295;
/// Galera: a write set of another node aborted the statement. Elsewhere: KILL QUERY.
pub const QUERY_INTERRUPTED: u16 = 1317;
/// A table was altered since the transaction's snapshot.
pub const TABLE_DEF_CHANGED: u16 = 1412;
/// Tables were opened anew, again and again, while the statement was about to run.
pub const NEED_REPREPARE: u16 = 1615;
/// A system table that an upgrade left as it was.
pub const WRONG_NATIVE_TABLE_STRUCTURE: u16 = 1682;
/// The account takes no password.
pub const ACCESS_DENIED_NO_PASSWORD_ERROR: u16 = 1698;
pub const CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: u16 = 1792;
/// innodb_read_only.
pub const READ_ONLY_MODE: u16 = 1836;
/// MariaDB: KILL CONNECTION.
pub const CONNECTION_KILLED: u16 = 1927;
/// offline_mode, as of a member that its group has expelled.
pub const SERVER_OFFLINE_MODE: u16 = 3032;
/// Group Replication: the member cannot replicate the transaction, as it is no member any more, or
/// the group changes. The member has rolled back.
pub const RUN_HOOK_ERROR: u16 = 3100;
/// Group Replication: certification found a conflict with a transaction of another member.
pub const TRANSACTION_ROLLBACK_DURING_COMMIT: u16 = 3101;
/// local_infile is off, from MySQL 8.0 on.
pub const CLIENT_LOCAL_FILES_DISABLED: u16 = 3948;

pub const ACCOUNT_LOCKED: u16 = 3118;
pub const MARIADB_ACCOUNT_LOCKED: u16 = 4151;
/// max_user_connections of all accounts, and a limit of one account.
pub const TOO_MANY_USER_CONNECTIONS: u16 = 1203;
pub const USER_LIMIT_REACHED: u16 = 1226;
/// require_secure_transport is on, and the line is open.
pub const SECURE_TRANSPORT_REQUIRED: u16 = 3159;

/// What proxies say where they have lost their server, or have none: those of the client library
/// (MySQL Router, ProxySQL, MaxScale), and ProxySQL's own.
pub const OF_PROXIES: [u16; 6] = [2003, 2006, SERVER_LOST, 9001, 9002, 9004];
/// The server was lost while it worked on a statement.
pub const SERVER_LOST: u16 = 2013;
