//! Good tables of every version.

/// Version 1.0, two servers of two, with all that is optional.
pub(crate) const SERVERS: &str = r#"{
  "status": "completed", "version": "1.0", "server_count": "2",
  "server_list": [
    {"server_id": "10.0.0.1", "host_ip": "10.0.0.1", "device": [
      {"device_id": "0", "device_ip": "192.168.1.1", "rank_id": "0", "host_port": "60001"},
      {"device_id": "5", "device_ip": "192.168.1.2", "rank_id": "1", "host_port": "60002"}]},
    {"server_id": "10.0.0.2", "device": [
      {"device_id": "0", "device_ip": "192.168.1.3", "rank_id": "2", "device_port": "1"},
      {"device_id": "1", "device_ip": "192.168.1.4", "rank_id": "3", "device_port": "65535"}]}]}"#;

/// Version 1.0, two processes on each of two devices, all on one server.
pub(crate) const SHARED: &str = r#"{
  "status": "completed", "version": "1.0", "server_count": "1",
  "server_list": [{"server_id": "box", "device": [
    {"device_id": "0", "device_ip": "fd00::1", "device_port": "17000", "rank_id": "0"},
    {"device_id": "0", "device_ip": "fd00::1", "device_port": "17001", "rank_id": "1"},
    {"device_id": "1", "device_ip": "fd00::2", "device_port": "17000", "rank_id": "2"},
    {"device_id": "1", "device_ip": "fd00::2", "device_port": "17001", "rank_id": "3"}]}]}"#;

/// Version 1.0 as frameworks write it for one host: no addresses, keys that nobody knows.
pub(crate) const LENIENT: &str = r#"{
  "server_count": "1", "board_id": "0x0000", "status": "completed", "version": "1.0",
  "server_list": [{"host_nic_ip": "reserve", "server_id": "127.0.0.1", "device": [
    {"rank_id": "1", "device_id": "1", "device_ip": ""},
    {"rank_id": "0", "device_id": "0", "device_ip": ""}]}]}"#;

/// Without a version: two groups, and a server that two instances share.
pub(crate) const GROUPS: &str = r#"{
  "status": "completed", "group_count": "2",
  "group_list": [
    {"group_name": "one", "instance_count": "2", "device_count": "3", "instance_list": [
      {"pod_name": "p0", "server_id": "a", "devices": [
        {"device_id": "0", "device_ip": "192.168.1.1"},
        {"device_id": "1", "device_ip": "192.168.1.2"}]},
      {"pod_name": "p1", "server_id": "a", "devices": [
        {"device_id": "2", "device_ip": "192.168.1.3"}]}]},
    {"instance_count": "1", "device_count": "1", "instance_list": [
      {"pod_name": "p2", "server_id": "b", "devices": [
        {"device_id": "0", "device_ip": "192.168.1.4"}]}]}]}"#;

/// Version 1.2: three servers in two superpods, listed in another order than ranks are.
pub(crate) const SUPER_PODS: &str = r#"{
  "status": "completed", "version": "1.2", "server_count": "3",
  "server_list": [
    {"server_id": "c", "host_ip": "10.0.0.3", "device": [
      {"device_id": "0", "super_device_id": "0", "device_ip": "192.168.1.5", "rank_id": "4"}]},
    {"server_id": "a", "host_ip": "10.0.0.1", "device": [
      {"device_id": "0", "super_device_id": "0", "device_ip": "192.168.1.1", "rank_id": "0",
       "device_port": "16700", "backup_device_ip": "192.168.1.2", "backup_device_port": "16701",
       "host_port": "60001"},
      {"device_id": "1", "super_device_id": "1", "device_ip": "192.168.1.2", "rank_id": "1",
       "device_port": "16700", "backup_device_ip": "192.168.1.1", "backup_device_port": "16701",
       "host_port": "60002"}]},
    {"server_id": "b", "device": [
      {"device_id": "0", "super_device_id": "2", "device_ip": "192.168.1.3", "rank_id": "2"},
      {"device_id": "1", "super_device_id": "3", "device_ip": "192.168.1.4", "rank_id": "3"}]}],
  "super_pod_list": [
    {"super_pod_id": "7", "server_list": [{"server_id": "c"}]},
    {"super_pod_id": "3", "server_list": [{"server_id": "b"}, {"server_id": "a"}]}]}"#;

/// Version 2.0: two servers of two, layers 0 and 3.
pub(crate) const LEVELS: &str = r#"{
  "version": "2.0", "rank_count": 4, "rank_list": [
    {"rank_id": 0, "local_id": 0, "device_id": 0, "device_port": 17000, "level_list": [
      {"net_layer": 0, "net_instance_id": "s0", "net_type": "TOPO_FILE_DESC", "net_attr": "",
       "rank_addr_list": [
        {"addr_type": "EID", "addr": "000000000000002000100000DFDF1001",
         "ports": ["0/0", "0/1"], "plane_id": "0"},
        {"addr_type": "EID", "addr": "000000000000002000100000DFDF1002", "ports": ["1/0"]}]},
      {"net_layer": 3, "net_instance_id": "all", "net_type": "CLOS", "rank_addr_list": [
        {"addr_type": "IPV4", "addr": "10.0.0.1", "ports": ["d2h"]}]}]},
    {"rank_id": 1, "local_id": 1, "device_id": 1, "level_list": [
      {"net_layer": 0, "net_instance_id": "s0", "net_type": "TOPO_FILE_DESC", "rank_addr_list": [
        {"addr_type": "EID", "addr": "000000000000002000100000DFDF1003", "ports": ["0/0"]}]},
      {"net_layer": 3, "net_instance_id": "all", "net_type": "CLOS", "rank_addr_list": [
        {"addr_type": "IPV6", "addr": "fd00::1", "ports": ["d2h"]}]}]},
    {"rank_id": 2, "local_id": 0, "device_id": 0, "level_list": [
      {"net_layer": 0, "net_instance_id": "s1", "net_type": "TOPO_FILE_DESC", "rank_addr_list": [
        {"addr_type": "EID", "addr": "000000000000002000100000DFDF1004", "ports": ["0/0"]}]},
      {"net_layer": 3, "net_instance_id": "all", "net_type": "TOPO_FILE_DESC", "rank_addr_list": [
        {"addr_type": "IPV4", "addr": "10.0.0.3", "ports": ["d2h"]}]}]},
    {"rank_id": 3, "local_id": 64, "device_id": 64, "host_port": 60000, "level_list": [
      {"net_layer": 0, "net_instance_id": "s1", "net_type": "TOPO_FILE_DESC", "rank_addr_list": [
        {"addr_type": "EID", "addr": "000000000000002000100000dfdf1005", "ports": []}]},
      {"net_layer": 3, "net_instance_id": "all", "net_type": "CLOS", "rank_addr_list": [
        {"addr_type": "IPV4", "addr": "10.0.0.4", "ports": ["d2h"]}]}]}]}"#;

pub(crate) const ALL: [&str; 6] = [SERVERS, SHARED, LENIENT, GROUPS, SUPER_PODS, LEVELS];
