package sdk

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/internal/boundedcall"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// callTimeout bounds a call whose context has no deadline.
	callTimeout = 30 * time.Second
	// maxAnswer bounds the size of one answer, in bytes.
	maxAnswer = 64 << 20
)

// Config says where the hub is and how to authenticate.
type Config struct {
	// URL of the hub, https://host[:port] or http:// on loopback.
	URL string
	// Token is an API token; if empty, calls carry none.
	Token string
	// CAPEM is PEM certificates to trust in place of the system's.
	CAPEM []byte
	// UserAgent names the program, such as "axle/1.2.3".
	UserAgent string
}

// Client calls the hub. Its fields are the services of api/hub/v1.
type Client struct {
	Sessions            hubv1connect.SessionsClient
	Projects            hubv1connect.ProjectsClient
	Clusters            hubv1connect.ClustersClient
	Repositories        hubv1connect.RepositoriesClient
	Webhooks            hubv1connect.WebhooksClient
	Services            hubv1connect.ServicesClient
	GlobalServices      hubv1connect.GlobalServicesClient
	NotificationSinks   hubv1connect.NotificationSinksClient
	NotificationRouters hubv1connect.NotificationRoutersClient
	Notifications       hubv1connect.NotificationsClient
	Contexts            hubv1connect.ContextsClient
	Outputs             hubv1connect.OutputsClient
	Backends            hubv1connect.BackendsClient
	Tokens              hubv1connect.TokensClient
	Audit               hubv1connect.AuditClient
	ServiceAccounts     hubv1connect.ServiceAccountsClient
	Federation          hubv1connect.FederationClient
	Users               hubv1connect.UsersClient
	Groups              hubv1connect.GroupsClient
	Bindings            hubv1connect.BindingsClient
	Access              hubv1connect.AccessClient
	Events              hubv1connect.EventsClient
	Agents              hubv1connect.AgentsClient
	Hub                 hubv1connect.HubClient
	ClusterAPI          hubv1connect.ClusterAPIClient
	ClusterAlerts       hubv1connect.ClusterAlertsClient
	Operations          hubv1connect.OperationsClient
	Logins              hubv1connect.LoginsClient
	Providers           hubv1connect.ProvidersClient

	ManagedNamespaces hubv1connect.ManagedNamespacesClient
	Fleet             hubv1connect.FleetClient

	ApplicationClients hubv1connect.ApplicationClientsClient

	typed
	observed

	// URL is that of the hub, without a slash at the end.
	URL string

	transport *http.Transport
	// http and options are those of every service.
	http    *http.Client
	options []connect.ClientOption
}

// New returns a Client. Errors are Invalid and name what to change.
func New(c Config) (*Client, error) {
	parsed, err := url.Parse(c.URL)
	if err != nil || (parsed.Scheme != "https" && parsed.Scheme != "http") || parsed.Host == "" {
		return nil, errcode.New(errcode.Invalid, "hub URL %q is not https://host[:port]", c.URL)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.CAPEM) > 0 {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(c.CAPEM) {
			return nil, errcode.New(errcode.Invalid, "the certificate authority for %s holds no PEM certificate", c.URL)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	base := strings.TrimSuffix(c.URL, "/")
	httpClient := &http.Client{Transport: transport, CheckRedirect: refuseRedirect}
	options := []connect.ClientOption{
		connect.WithInterceptors(&calls{token: c.Token, agent: c.UserAgent, url: base}),
		boundedcall.Client(maxAnswer),
	}
	return &Client{
		Sessions:        hubv1connect.NewSessionsClient(httpClient, base, options...),
		Projects:        hubv1connect.NewProjectsClient(httpClient, base, options...),
		Clusters:        hubv1connect.NewClustersClient(httpClient, base, options...),
		Repositories:    hubv1connect.NewRepositoriesClient(httpClient, base, options...),
		Webhooks:        hubv1connect.NewWebhooksClient(httpClient, base, options...),
		Services:        hubv1connect.NewServicesClient(httpClient, base, options...),
		GlobalServices:  hubv1connect.NewGlobalServicesClient(httpClient, base, options...),
		Contexts:        hubv1connect.NewContextsClient(httpClient, base, options...),
		Outputs:         hubv1connect.NewOutputsClient(httpClient, base, options...),
		Backends:        hubv1connect.NewBackendsClient(httpClient, base, options...),
		Tokens:          hubv1connect.NewTokensClient(httpClient, base, options...),
		Audit:           hubv1connect.NewAuditClient(httpClient, base, options...),
		ServiceAccounts: hubv1connect.NewServiceAccountsClient(httpClient, base, options...),
		Federation:      hubv1connect.NewFederationClient(httpClient, base, options...),
		Users:           hubv1connect.NewUsersClient(httpClient, base, options...),
		Groups:          hubv1connect.NewGroupsClient(httpClient, base, options...),
		Bindings:        hubv1connect.NewBindingsClient(httpClient, base, options...),
		Access:          hubv1connect.NewAccessClient(httpClient, base, options...),
		Events:          hubv1connect.NewEventsClient(httpClient, base, options...),
		Agents:          hubv1connect.NewAgentsClient(httpClient, base, options...),
		Operations:      hubv1connect.NewOperationsClient(httpClient, base, options...),
		Hub:             hubv1connect.NewHubClient(httpClient, base, options...),
		ClusterAPI:      hubv1connect.NewClusterAPIClient(httpClient, base, options...),
		ClusterAlerts:   hubv1connect.NewClusterAlertsClient(httpClient, base, options...),
		Logins:          hubv1connect.NewLoginsClient(httpClient, base, options...),
		Providers:       hubv1connect.NewProvidersClient(httpClient, base, options...),

		NotificationSinks:   hubv1connect.NewNotificationSinksClient(httpClient, base, options...),
		NotificationRouters: hubv1connect.NewNotificationRoutersClient(httpClient, base, options...),
		Notifications:       hubv1connect.NewNotificationsClient(httpClient, base, options...),
		ManagedNamespaces:   hubv1connect.NewManagedNamespacesClient(httpClient, base, options...),
		Fleet:               hubv1connect.NewFleetClient(httpClient, base, options...),
		ApplicationClients:  hubv1connect.NewApplicationClientsClient(httpClient, base, options...),

		typed: newTyped(httpClient, base, options...), observed: newObserved(httpClient, base, options...),

		URL: base, transport: transport, http: httpClient, options: options,
	}, nil
}

// Close closes the connections that no call uses. A call in progress ends as if it had
// not been called, and so does a later one.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// refuseRedirect prevents the token from following a redirect to another host.
func refuseRedirect(request *http.Request, _ []*http.Request) error {
	return fmt.Errorf("the hub redirects to %s; use that URL for the hub", request.URL.Redacted())
}

// Error turns the error of a call into a coded error that says where it happened and
// what to do next. nil stays nil.
func Error(err error, hubURL string) error {
	if err == nil {
		return nil
	}
	var coded *errcode.Error
	if errors.As(err, &coded) {
		return err
	}
	var rpc *connect.Error
	if !errors.As(err, &rpc) {
		return errcode.New(errcode.Unavailable, "cannot reach the hub at %s: %w", hubURL, err)
	}
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return errcode.Hide(errcode.Unavailable, err, "the certificate of the hub at %s is signed by an authority that is not trusted here; pass the hub's ca.pem with --ca", hubURL)
	case connect.IsWireError(err):
		return errcode.New(errcode.FromRPC(uint32(rpc.Code())), "%s", rpc.Message())
	case rpc.Code() == connect.CodeDeadlineExceeded:
		return errcode.New(errcode.Unavailable, "the hub at %s did not answer in time", hubURL)
	case rpc.Code() == connect.CodeUnavailable:
		return errcode.New(errcode.Unavailable, "cannot reach the hub at %s: %s; is it running, and is the URL right?", hubURL, rpc.Message())
	case rpc.Code() == connect.CodeUnimplemented:
		return errcode.Hide(errcode.Internal, err, "%s does not know this call: the hub is older than this program, or it is not a hub's URL; upgrade the hub, or use the program of its version", hubURL)
	case rpc.Code() == connect.CodeUnauthenticated:
		return errcode.New(errcode.Unauthorized, "the hub at %s does not accept the token; run axle login", hubURL)
	default:
		hint := "is the URL right?"
		if strings.HasPrefix(hubURL, "http://") {
			hint = "is it https:// there?"
		}
		return errcode.New(errcode.FromRPC(uint32(rpc.Code())), "%s answers, but is not a hub: %s; %s", hubURL, rpc.Message(), hint)
	}
}
