package console

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"connectrpc.com/connect"
	"k8s.io/apimachinery/pkg/util/validation"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/manifests"
	"github.com/axle-cd/axle/internal/errcode"
)

// Limits of an agent's arguments.
const (
	maxAgentArgs = 50
	maxAgentText = 1000
)

// AgentManifests renders and stores nothing. The token in the answer is the caller's.
func (s *clusters) AgentManifests(_ context.Context, r *connect.Request[hubv1.AgentManifestsRequest]) (*connect.Response[hubv1.AgentManifestsResponse], error) {
	if err := checkAgent(r.Msg); err != nil {
		return nil, err
	}
	agent := manifests.Agent{
		Namespace: cmp.Or(r.Msg.GetNamespace(), manifests.AgentNamespace), Image: cmp.Or(r.Msg.GetImage(), s.config.AgentImage), HubURL: cmp.Or(r.Msg.GetHubUrl(), s.config.AgentsURL),
		BootstrapToken: r.Msg.GetBootstrapToken(), CAPEM: s.config.CAPEM, PollInterval: r.Msg.GetPollInterval(), Version: s.config.Version, Args: r.Msg.GetArgs(),
		LeastPrivilege: r.Msg.GetLeastPrivilege(), WithoutAdmins: r.Msg.GetWithoutAdmins(), WithoutAccess: r.Msg.GetWithoutAccess(), WithoutPeople: r.Msg.GetWithoutPeople(),
	}
	text, err := agent.Manifests(s.config.Deploy)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.AgentManifestsResponse{Manifests: string(text), Image: agent.Image}), nil
}

// checkAgent refuses what the cluster or the agent would refuse, before a token is made.
func checkAgent(m *hubv1.AgentManifestsRequest) error {
	address, err := url.Parse(m.GetHubUrl())
	wait, badWait := time.ParseDuration(cmp.Or(m.GetPollInterval(), "2m"))
	long := func(text string) bool { return len(text) > maxAgentText }
	switch {
	case m.GetNamespace() != "" && len(validation.IsDNS1123Label(m.GetNamespace())) > 0:
		return errcode.New(errcode.Invalid, "namespace %q is not a name that Kubernetes takes: lower-case letters, digits and dashes, at most 63", m.GetNamespace())
	case m.GetHubUrl() != "" && (err != nil || address.Host == "" || address.User != nil || address.Scheme != "https" && address.Scheme != "http"):
		return errcode.New(errcode.Invalid, "hub_url is not a URL such as https://axle.example.com")
	case badWait != nil || wait <= 0:
		return errcode.New(errcode.Invalid, "poll_interval %q is not a duration such as 2m", m.GetPollInterval())
	case len(m.GetArgs()) > maxAgentArgs || slices.ContainsFunc(append(m.GetArgs(), m.GetImage(), m.GetBootstrapToken(), m.GetHubUrl()), long):
		return errcode.New(errcode.Invalid, "at most %d arguments, and at most %d bytes in each value", maxAgentArgs, maxAgentText)
	}
	return nil
}
