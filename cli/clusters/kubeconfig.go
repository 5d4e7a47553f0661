package clusters

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/kubeconfig"
	"github.com/axle-cd/axle/internal/aliases"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// execVersion is the version of the exec plugins' protocol.
const execVersion = "client.authentication.k8s.io/v1"

// toMerge is the value of --output that means the user's own kubeconfig.
const toMerge = "merge"

type kubeconfigRequest struct {
	cluster  string
	name     string
	plugin   bool
	admin    bool
	output   string
	lifetime time.Duration
}

func kubeconfigCommand(a *command.App) *cobra.Command {
	r := kubeconfigRequest{}
	c := &cobra.Command{
		Use:   "kubeconfig NAME",
		Short: "Write a kubeconfig that reaches a cluster through the hub",
		Long: `Write a kubeconfig whose context is named after the cluster and reaches it through
the hub and the cluster's agent. The kubeconfig holds no long-lived secret, only a
credential for this one cluster that is valid for an hour at most. With
--exec-plugin it holds no credential: kubectl runs axle whenever it needs one.

The cluster's own RBAC decides what you may do there. It sees your user name and
your groups at the hub.

With --admin it is the kubeconfig with which Cluster API administers a cluster that was
made from a template: past the hub, with all rights, until the cluster renews it. It is
for repairs, for administrators only, and the audit log has who asked for it.`,
		Example: `  axle clusters kubeconfig edge-1 --exec-plugin --output merge
  axle clusters kubeconfig edge-1 --output edge-1.yaml && kubectl --kubeconfig edge-1.yaml get pods -A`,
		Args: command.Exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			r.cluster = args[0]
			return printKubeconfig(c.Context(), a, r)
		},
	}
	c.Flags().StringVar(&r.name, "name", "", "name of the context (default: the cluster's)")
	c.Flags().BoolVar(&r.admin, "admin", false, "the credential of Cluster API, past the hub: of a cluster that was made from a template, for administrators, recorded")
	c.Flags().BoolVar(&r.plugin, "exec-plugin", false, "store no credential; kubectl runs axle to get one")
	c.Flags().StringVarP(&r.output, "output", "o", "-", "file to write, - for standard output, or merge to add it to your own kubeconfig as the current context")
	c.Flags().DurationVar(&r.lifetime, "lifetime", time.Hour, "lifetime of the credential, at most 1h (without --exec-plugin)")
	c.MarkFlagsMutuallyExclusive("admin", "exec-plugin")
	c.MarkFlagsMutuallyExclusive("admin", "lifetime")
	return c
}

// credentialCommand is the command that kubectl runs as an exec plugin.
func credentialCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:   "credential NAME",
		Short: "Print a credential for a cluster, for kubectl",
		Long:  "Print a credential for one cluster, valid for an hour at most, in the format of a kubectl exec plugin. Kubeconfigs made with --exec-plugin run this command.",
		Args:  command.Exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			made, err := credential(c.Context(), a, args[0], 0)
			if err != nil {
				return err
			}
			until := metav1.NewTime(clock.FromMicros(made.GetExpiresAt()))
			return json.NewEncoder(a.Out).Encode(clientauthenticationv1.ExecCredential{
				TypeMeta: metav1.TypeMeta{APIVersion: execVersion, Kind: "ExecCredential"},
				Status:   &clientauthenticationv1.ExecCredentialStatus{Token: made.GetToken(), ExpirationTimestamp: &until},
			})
		},
	}
}

func credential(ctx context.Context, a *command.App, cluster string, lifetime time.Duration) (*hubv1.ClusterCredential, error) {
	client, err := a.Client()
	if err != nil {
		return nil, err
	}
	made, err := client.ClusterAPI.CreateCredential(ctx, connect.NewRequest(&hubv1.CreateClusterCredentialRequest{Cluster: cluster, LifetimeMicros: lifetime.Microseconds()}))
	if err != nil {
		return nil, err
	}
	return made.Msg, nil
}

// overTLS returns an error for a hub URL without TLS. kubectl sends no
// credential over plain HTTP, and then only reports that one must log in.
func overTLS(server string) error {
	if !strings.HasPrefix(server, "http://") {
		return nil
	}
	return errcode.New(errcode.Invalid, "kubectl sends no credential over plain HTTP, and the hub's external URL is %s; run axle-hub serve with --dev-ca, with --tls-cert and --tls-key, or with an https --external-url behind a proxy that terminates TLS, then log in to that address", server)
}

func printKubeconfig(ctx context.Context, a *command.App, r kubeconfigRequest) error {
	config, err := madeKubeconfig(ctx, a, r)
	if err != nil {
		return err
	}
	return putKubeconfig(ctx, a, r.output, config)
}

// putKubeconfig writes a kubeconfig to where a flag says.
func putKubeconfig(ctx context.Context, a *command.App, where string, config *clientcmdapi.Config) error {
	switch where {
	case "-":
		text, err := clientcmd.Write(*config)
		if err != nil {
			return err
		}
		_, err = a.Out.Write(text)
		return err
	case toMerge:
		where, err := kubeconfig.Merge(ctx, config)
		if err == nil {
			fmt.Fprintf(a.Err, "context %s was added to %s and is now current; try: kubectl get pods\n", config.CurrentContext, where)
		}
		return err
	}
	if err := kubeconfig.Write(where, config); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "wrote %s; try: kubectl --kubeconfig %s get pods\n", where, where)
	return nil
}

// madeKubeconfig is the kubeconfig that was asked for.
func madeKubeconfig(ctx context.Context, a *command.App, r kubeconfigRequest) (*clientcmdapi.Config, error) {
	if r.admin {
		return adminKubeconfig(ctx, a, r)
	}
	made, err := credential(ctx, a, r.cluster, r.lifetime)
	if err != nil {
		return nil, err
	}
	config, err := kubeconfigOf(a, r, made)
	if err != nil {
		return nil, err
	}
	if err := overTLS(made.GetServer()); err != nil {
		fmt.Fprintf(a.Err, "Warning: %s\n", err) // programs other than kubectl may send one
	}
	return config, nil
}

// adminKubeconfig is the one of Cluster API, as one context. Only its address and what is
// secret is taken over: nothing in it may run or read something here.
func adminKubeconfig(ctx context.Context, a *command.App, r kubeconfigRequest) (*clientcmdapi.Config, error) {
	client, err := a.Client()
	if err != nil {
		return nil, err
	}
	got, err := client.Clusters.AdminKubeconfig(ctx, connect.NewRequest(&hubv1.AdminKubeconfigRequest{Name: r.cluster}))
	if err != nil {
		return nil, err
	}
	return oneContext([]byte(got.Msg.GetKubeconfig()), cmp.Or(r.name, r.cluster))
}

// oneContext is a kubeconfig of Cluster API with its current context alone, under a name, and
// with nothing that runs a program or reads a file.
func oneContext(text []byte, name string) (*clientcmdapi.Config, error) {
	if aliases.Check(text) != nil {
		return nil, errcode.New(errcode.Unprocessable, "the management cluster's answer is not a kubeconfig")
	}
	from, err := clientcmd.Load(text)
	if err != nil {
		return nil, errcode.New(errcode.Unprocessable, "the management cluster's answer is not a kubeconfig") // the error may quote it
	}
	at := from.Contexts[from.CurrentContext]
	if at == nil || from.Clusters[at.Cluster] == nil || from.AuthInfos[at.AuthInfo] == nil {
		return nil, errcode.New(errcode.Unprocessable, "the management cluster's answer is not a whole kubeconfig")
	}
	cluster, user := from.Clusters[at.Cluster], from.AuthInfos[at.AuthInfo]
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: cluster.Server, CertificateAuthorityData: cluster.CertificateAuthorityData, TLSServerName: cluster.TLSServerName}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: user.Token, ClientCertificateData: user.ClientCertificateData, ClientKeyData: user.ClientKeyData, Username: user.Username, Password: user.Password}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return config, nil
}

// kubeconfigOf is a kubeconfig with one context.
func kubeconfigOf(a *command.App, r kubeconfigRequest, made *hubv1.ClusterCredential) (*clientcmdapi.Config, error) {
	t, err := a.Target()
	if err != nil {
		return nil, err
	}
	name := cmp.Or(r.name, r.cluster)
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: made.GetServer(), CertificateAuthorityData: []byte(cmp.Or(made.GetCaPem(), t.CA))}
	user := &clientcmdapi.AuthInfo{Token: made.GetToken()}
	if r.plugin {
		user = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
			APIVersion: execVersion, Command: "axle", Args: append([]string{"clusters", "credential", r.cluster}, sameHub(a)...),
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			InstallHint:     "This kubeconfig gets its credentials from axle, which is not on your PATH.",
		}}
	}
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return config, nil
}

// sameHub returns the flags with which a later run reaches the same hub.
func sameHub(a *command.App) []string {
	var args []string
	for _, f := range []struct{ flag, value string }{
		{"--hub", cmp.Or(a.HubURL, a.Getenv("AXLE_HUB_URL"))}, {"--token-file", cmp.Or(a.TokenFile, a.Getenv("AXLE_TOKEN_FILE"))}, {"--ca", cmp.Or(a.CAFile, a.Getenv("AXLE_CA_FILE"))},
	} {
		value := f.value
		if value != "" && f.flag != "--hub" {
			if path, err := filepath.Abs(value); err == nil {
				value = path
			}
		}
		if value != "" {
			args = append(args, f.flag+"="+value)
		}
	}
	if len(args) > 0 {
		return args
	}
	name := cmp.Or(a.ContextName, a.Getenv("AXLE_CONTEXT"))
	if s, err := a.LoadSettings(); err == nil {
		name = cmp.Or(name, s.Current)
	}
	if name == "" {
		return nil
	}
	return []string{"--context=" + name}
}
