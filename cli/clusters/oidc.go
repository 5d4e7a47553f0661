package clusters

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/signin"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/internal/kubereq"
	"github.com/axle-cd/axle/sdk"
)

// returnsTo is where a browser returns to with a code, on any port.
const returnsTo = "http://127.0.0.1/callback"

// oidcRequest is what axle clusters oidc was asked for.
type oidcRequest struct {
	cluster, application string
	users, groups        []string
	prefix, issuerCA     string
	kubeconfig           string
	server, serverCA     string
	kubeContext          string
	device               bool
}

func oidcCommand(a *command.App) *cobra.Command {
	var r oidcRequest
	c := &cobra.Command{
		Use: "oidc NAME", Short: "Let people use kubectl on a cluster without the hub's tunnel",
		Long: `Print the AuthenticationConfiguration with which a cluster's API server accepts the people
whom the hub signs in. The hub gets an application for it, named kubectl-NAME, with a
client of its own: --groups and --users list those who may log in, and tokens have only
those groups. Without them the application must exist already.

The API server sees names with a prefix: user oidc:ada@example.com, group oidc:shop-admins. Its
own RBAC decides what they may do. Start it with --authentication-config=FILE; the file has
room for other issuers besides.

With --kubeconfig it writes a kubeconfig for people instead, which has no secret: kubectl runs
axle, which logs in with a browser, or with --device by a code. The address of the API server
is --server with --server-ca, or that of a context of your own kubeconfig.

The API server asks the hub for its keys only. A person who leaves a group or is deleted can use
kubectl until their ID token ends, for 10 minutes at most.`,
		Example: `  axle clusters oidc edge-1 --groups shop-admins > authentication.yaml
  axle clusters oidc edge-1 --kubeconfig edge-1.yaml --server https://edge-1.example.com:6443 --server-ca ca.crt
  axle clusters oidc edge-1 --kubeconfig merge --kube-context edge-1-admin --device`,
		Args:    command.Exactly(1),
		PreRunE: func(c *cobra.Command, _ []string) error { return r.check(c) },
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			r.cluster = args[0]
			r.application = cmp.Or(r.application, "kubectl-"+r.cluster)
			if err := r.declare(c.Context(), a, client); err != nil {
				return err
			}
			got, err := client.ApplicationClients.Get(c.Context(), connect.NewRequest(&hubv1.GetApplicationClientRequest{Name: r.application}))
			if err != nil {
				return err
			}
			ca, err := r.authority(a, got.Msg.GetIssuer())
			if err != nil {
				return err
			}
			if r.kubeconfig != "" {
				return r.writeKubeconfig(c.Context(), a, got.Msg, ca)
			}
			text, err := authentication(got.Msg, ca, r.prefix)
			if err == nil {
				_, err = a.Out.Write(text)
			}
			return err
		}),
	}
	r.flags(c)
	return c
}

func (r *oidcRequest) flags(c *cobra.Command) {
	flags := c.Flags()
	flagvalue.List(flags, &r.groups, "groups", "groups whose members may log in")
	flagvalue.List(flags, &r.users, "users", "users who may log in, by e-mail address")
	flags.StringVar(&r.application, "application", "", "name of the application (default: kubectl-NAME)")
	flags.StringVar(&r.prefix, "prefix", "oidc:", "what the API server puts before the names of users and groups")
	flags.StringVar(&r.issuerCA, "issuer-ca", "", "file with the certificate authority of the hub (default: the one that you are logged in with)")
	flags.StringVar(&r.kubeconfig, "kubeconfig", "", "write a kubeconfig to this file, or merge to add it to your own as the current context")
	flags.StringVar(&r.server, "server", "", "address of the cluster's API server, for the kubeconfig")
	flags.StringVar(&r.serverCA, "server-ca", "", "file with the certificate authority of the API server (default: those of the system)")
	flags.StringVar(&r.kubeContext, "kube-context", "", "context of your own kubeconfig that has the address of the API server")
	flags.BoolVar(&r.device, "device", false, "log in by a code that is entered on another machine")
	c.MarkFlagsMutuallyExclusive("kube-context", "server")
	c.MarkFlagsMutuallyExclusive("kube-context", "server-ca")
}

// check refuses flags that do not go together.
func (r *oidcRequest) check(c *cobra.Command) error {
	for _, name := range []string{"server", "server-ca", "kube-context", "device"} {
		if r.kubeconfig == "" && c.Flags().Changed(name) {
			return exitcode.Usagef("--%s is for a kubeconfig: name its file with --kubeconfig FILE", name)
		}
	}
	if r.kubeconfig != "" && (r.server == "") == (r.kubeContext == "") {
		return exitcode.Usagef("name the cluster's API server: --server https://HOST:6443, or --kube-context CONTEXT")
	}
	return checkPrefix(r.prefix)
}

// checkPrefix refuses one below which names have a meaning already, in every cluster or
// by the hub's own groups, which the agent's manifests bind.
func checkPrefix(prefix string) error {
	switch {
	case prefix == "" || !strings.HasSuffix(prefix, ":") || len(prefix) > 64 || strings.ContainsFunc(prefix, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return exitcode.Usagef("--prefix is %q; use up to 64 plain characters that end with a colon, such as oidc:", prefix)
	case kubereq.Reserved(prefix), strings.HasPrefix(strings.ToLower(prefix), "axle:"):
		return exitcode.Usagef("--prefix %s is reserved: names that begin so have rights of their own in clusters; use another one, such as oidc:", prefix)
	}
	return nil
}

// declare makes the application what was asked for, and checks one that is there already.
func (r oidcRequest) declare(ctx context.Context, a *command.App, client *sdk.Client) error {
	cluster, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: r.cluster}))
	if err != nil {
		return err
	}
	settings := &hubv1.ApplicationSettings{Project: cluster.Msg.GetProject(), Title: "kubectl on " + r.cluster, Public: true, RedirectUris: []string{returnsTo}, BoundGroupsOnly: true}
	asked := len(r.groups)+len(r.users) > 0
	found, err := client.Applications.Get(ctx, connect.NewRequest(&hubv1.GetApplicationRequest{Name: r.application}))
	revision := int64(0)
	switch {
	case errcode.Is(sdk.Error(err, ""), errcode.NotFound) && !asked:
		return exitcode.Usagef("there is no application %s yet: name those who may log in with --groups or --users", r.application)
	case errcode.Is(sdk.Error(err, ""), errcode.NotFound):
	case err != nil:
		return err
	default:
		// Whoever may write another project would decide who gets in to this cluster.
		if settings, revision = found.Msg.GetSettings(), found.Msg.GetRevision(); settings.GetProject() != cluster.Msg.GetProject() || !settings.GetPublic() || !settings.GetBoundGroupsOnly() || !slices.Contains(settings.GetRedirectUris(), returnsTo) {
			return errcode.New(errcode.Conflict, "the application %s is another one: kubectl needs a public client in the cluster's project %s, with boundGroupsOnly and the redirect URI %s; name another with --application", r.application, cluster.Msg.GetProject(), returnsTo)
		}
	}
	if !asked {
		return nil
	}
	settings.Groups, settings.Users = r.groups, r.users
	made, err := client.Applications.Apply(ctx, connect.NewRequest(&hubv1.ApplyApplicationRequest{
		Name: r.application, Settings: settings, Revision: revision, Management: command.Management(),
	}))
	if err == nil {
		fmt.Fprintf(a.Err, "application %s %s\n", r.application, made.Msg.GetResult())
	}
	return err
}

// authority is that of the issuer, empty for those of the system.
func (r oidcRequest) authority(a *command.App, issuer string) (string, error) {
	if !strings.HasPrefix(issuer, "https://") {
		return "", errcode.New(errcode.Invalid, "API servers take only an https issuer, and this hub's is %s; run axle-hub serve with --dev-ca, with --tls-cert and --tls-key, or with an https --external-url", issuer)
	}
	if r.issuerCA != "" {
		text, err := os.ReadFile(r.issuerCA)
		if err != nil {
			return "", errcode.New(errcode.Invalid, "--issuer-ca: %w", err)
		}
		return string(text), nil
	}
	t, err := a.Target()
	return t.CA, err
}

// authentication is the configuration for an API server. The rules at its end hold whatever
// a group is called.
func authentication(c *hubv1.ApplicationClient, ca, prefix string) ([]byte, error) {
	issuer := map[string]any{"url": c.GetIssuer(), "audiences": []string{c.GetClientId()}}
	if ca != "" {
		issuer["certificateAuthority"] = ca
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1",
		"kind":       "AuthenticationConfiguration",
		"jwt": []any{map[string]any{
			"issuer": issuer,
			"claimMappings": map[string]any{
				"username": map[string]any{"claim": "email", "prefix": prefix},
				"groups":   map[string]any{"claim": "groups", "prefix": prefix},
				"uid":      map[string]any{"claim": "sub"},
			},
			"userValidationRules": []any{
				map[string]any{"expression": "!user.username.startsWith('system:')", "message": "names that begin with system: are the cluster's"},
				map[string]any{"expression": "user.groups.all(group, !group.startsWith('system:'))", "message": "groups that begin with system: are the cluster's"},
			},
		}},
	})
}

// writeKubeconfig writes one that runs this program for tokens.
func (r oidcRequest) writeKubeconfig(ctx context.Context, a *command.App, c *hubv1.ApplicationClient, ca string) error {
	cluster, err := r.apiServer()
	if err != nil {
		return err
	}
	args := []string{"clusters", "oidc-credential", "--issuer=" + c.GetIssuer(), "--client-id=" + c.GetClientId()}
	if ca != "" {
		args = append(args, "--issuer-ca-data="+base64.StdEncoding.EncodeToString([]byte(ca)))
	}
	if r.device {
		args = append(args, "--device")
	}
	config, name := clientcmdapi.NewConfig(), r.cluster+"-oidc"
	config.Clusters[name] = cluster
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: execVersion, Command: "axle", Args: args, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		InstallHint: "This kubeconfig gets its credentials from axle, which is not on your PATH.",
	}}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return putKubeconfig(ctx, a, r.kubeconfig, config)
}

// apiServer is the cluster of the kubeconfig.
func (r oidcRequest) apiServer() (*clientcmdapi.Cluster, error) {
	if r.kubeContext == "" {
		u, err := url.Parse(r.server)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
			return nil, exitcode.Usagef("--server: %.200q is not an https URL such as https://edge-1.example.com:6443", r.server)
		}
		cluster := &clientcmdapi.Cluster{Server: r.server}
		if r.serverCA != "" {
			if cluster.CertificateAuthorityData, err = os.ReadFile(r.serverCA); err != nil {
				return nil, errcode.New(errcode.Invalid, "--server-ca: %w", err)
			}
		}
		return cluster, nil
	}
	own, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "read your kubeconfig: %w", err)
	}
	at := own.Contexts[r.kubeContext]
	if at == nil || own.Clusters[at.Cluster] == nil {
		return nil, errcode.New(errcode.NotFound, "--kube-context: your kubeconfig has no context %.80q", r.kubeContext)
	}
	from := own.Clusters[at.Cluster]
	data := from.CertificateAuthorityData
	if len(data) == 0 && from.CertificateAuthority != "" {
		if data, err = os.ReadFile(from.CertificateAuthority); err != nil {
			return nil, errcode.New(errcode.Invalid, "read the certificate authority of %s: %w", r.kubeContext, err)
		}
	}
	return &clientcmdapi.Cluster{Server: from.Server, CertificateAuthorityData: data, TLSServerName: from.TLSServerName, ProxyURL: from.ProxyURL}, nil
}

// oidcCredentialCommand is the command that kubectl runs as an exec plugin.
func oidcCredentialCommand(a *command.App) *cobra.Command {
	p := signin.Party{App: a}
	var ca string
	var forget bool
	c := &cobra.Command{
		Use: "oidc-credential", Short: "Print an ID token of the hub's identity provider, for kubectl",
		Long: `Print an ID token of the hub's identity provider, in the format of a kubectl exec plugin.
Kubeconfigs of axle clusters oidc run this command. It logs in with a browser when it must,
and keeps what it got in a file that only you can read, below your cache folder.`,
		Example: `  axle clusters oidc-credential --issuer https://hub.example.com/oidc --client-id app_abc --device
  axle clusters oidc-credential --issuer https://hub.example.com/oidc --client-id app_abc --forget`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := base64.StdEncoding.DecodeString(ca)
			if err != nil || p.Issuer == "" || p.ClientID == "" {
				return exitcode.Usagef("give --issuer and --client-id, and --issuer-ca-data in base64, as the kubeconfig of axle clusters oidc has them")
			}
			if p.CA = string(text); forget {
				return p.Forget(c.Context())
			}
			token, err := p.Token(c.Context())
			if err != nil {
				return err
			}
			until := metav1.NewTime(token.ExpiresAt.Add(-signin.Spare))
			return json.NewEncoder(a.Out).Encode(clientauthenticationv1.ExecCredential{
				TypeMeta: metav1.TypeMeta{APIVersion: execVersion, Kind: "ExecCredential"},
				Status:   &clientauthenticationv1.ExecCredentialStatus{Token: token.ID, ExpirationTimestamp: &until},
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&p.Issuer, "issuer", "", "URL of the identity provider")
	flags.StringVar(&p.ClientID, "client-id", "", "id of the client")
	flags.StringVar(&ca, "issuer-ca-data", "", "certificate authority of the issuer, PEM in base64 (default: those of the system)")
	flags.BoolVar(&p.Device, "device", false, "show a code to enter in a browser on another machine")
	flags.BoolVar(&forget, "forget", false, "end the login and remove what is kept of it")
	return c
}
