package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/test/kube"
)

// socket is containerd's, below the node's folder.
const socket = "containerd.sock"

// files are what the programs are configured by, with NODE for the node's folder.
var files = map[string]string{
	"registry.yaml": `version: 0.1
log: {level: warn}
storage:
  filesystem: {rootdirectory: NODE/registry}
  delete: {enabled: true}
http: {addr: "REGISTRY"}
`,
	// Nothing of it is outside of NODE, except the sockets of shims.
	"containerd.toml": `version = 2
root = "NODE/containerd"
state = "NODE/containerd-state"
[grpc]
  address = "NODE/` + socket + `"
[plugins."io.containerd.internal.v1.opt"]
  path = "NODE/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + Guest + `"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "` + plugins + `"
    conf_dir = "NODE/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "NODE/certs.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "runc"
      SystemdCgroup = false
      Root = "NODE/runc"
`,
	"certs.d/REGISTRY/hosts.toml": `server = "http://REGISTRY"
[host."http://REGISTRY"]
  capabilities = ["pull", "resolve"]
`,
	"certs.d/" + ElsewhereRegistry + "/hosts.toml": `server = "http://` + ElsewhereRegistry + `"
[host."http://` + ElsewhereRegistry + `"]
  capabilities = ["pull", "resolve"]
`,
	// Each pod has a link of its own: a bridge would answer a pod that asked a Service
	// from the address of another pod, unless the kernel filters bridges.
	"cni/10-axle.conflist": `{"cniVersion": "0.4.0", "name": "` + namespace + `", "plugins": [
  {"type": "ptp", "ipam": {"type": "host-local", "dataDir": "NODE/addresses",
    "ranges": [[{"subnet": "` + podNetwork + `"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
`,
	"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: ` + Address + `
tlsCertFile: NODE/kubelet.crt
tlsPrivateKeyFile: NODE/kubelet.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: NODE/ca.crt}}
authorization: {mode: AlwaysAllow}
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /` + cgroup + `
enforceNodeAllocatable: []
failSwapOn: false
oomScoreAdj: 0
maxOpenFiles: 20000
containerRuntimeEndpoint: unix://NODE/` + socket + `
clusterDNS: [` + Address + `]
clusterDomain: cluster.local
resolvConf: NODE/resolv.conf
podLogsDir: NODE/logs
volumePluginDir: NODE/plugins
evictionHard: {nodefs.available: "1%", imagefs.available: "1%", memory.available: 100Mi}
imageGCHighThresholdPercent: 100 # a full disk would delete the image of every pod's first container
readOnlyPort: 0
`,
	"kube-proxy.yaml": `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: ` + Name + `
oomScoreAdj: 0
clusterCIDR: ` + podNetwork + `
detectLocalMode: ClusterCIDR
clientConnection: {kubeconfig: NODE/kube-proxy.kubeconfig}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
healthzBindAddress: ` + Address + `:10256
metricsBindAddress: 127.0.0.1:10249
`,
	// The node itself knows what pods know, and no other name.
	"resolv.conf": "nameserver " + Address + "\n",
}

// writeFiles fills the node's folder.
func writeFiles(dir string) error {
	fill := strings.NewReplacer("NODE", dir, "REGISTRY", Registry)
	for name, text := range files {
		path := filepath.Join(dir, fill.Replace(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(fill.Replace(text)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// writeCredentials writes what kubelet and kube-proxy show to the API server, and the
// kubelet to it.
func writeCredentials(dir string, cluster *kube.Cluster) error {
	certificate, key, err := kube.ServingCertificate(cluster, Name, Address)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"kubelet.crt": certificate, "kubelet.key": key, "ca.crt": cluster.CA()} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	for name, user := range map[string]string{"kubelet": "system:node:" + Name, "kube-proxy": "system:kube-proxy"} {
		// This API server has no authorizer for nodes.
		kubeconfig, err := cluster.KubeconfigFor(user, "system:masters")
		if err != nil {
			return err
		}
		if err := os.Rename(kubeconfig, filepath.Join(dir, name+".kubeconfig")); err != nil {
			return fmt.Errorf("keep the credentials of %s: %w", name, err)
		}
	}
	return nil
}

// makeCgroups makes the folders that hold the pods. In a hierarchy of version 1, a cpuset
// without processors takes no process.
func makeCgroups() error {
	roots, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil {
		return err
	}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		roots = []string{"/sys/fs/cgroup/cgroup.procs"}
	}
	for _, root := range roots {
		parent := filepath.Dir(root)
		if err := os.MkdirAll(filepath.Join(parent, cgroup), 0o755); err != nil {
			return err
		}
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(filepath.Join(parent, name))
			if err != nil || filepath.Base(parent) != "cpuset" {
				continue
			}
			if err := os.WriteFile(filepath.Join(parent, cgroup, name), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
