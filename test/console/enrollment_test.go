package console_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
)

// jumping is the machine's clock with an offset.
type jumping struct {
	clock.Real
	offset atomic.Int64
}

func (s *jumping) Now() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) }

// joining is a hub with a cluster that nobody has joined.
type joining struct {
	*hubtest.Hub
	t         *testing.T
	clock     *jumping
	client    *sdk.Client
	bootstrap string
}

func newJoining(t *testing.T) *joining {
	t.Helper()
	b := &joining{t: t, clock: &jumping{}}
	b.Hub = hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{Clock: b.clock}})
	var err error
	if b.client, err = sdk.New(sdk.Config{URL: b.URL, Token: b.AdminToken}); err != nil {
		t.Fatal(err)
	}
	made, err := b.client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge"}))
	if err != nil {
		t.Fatal(err)
	}
	b.bootstrap = made.Msg.GetBootstrapToken()
	return b
}

// steps returns "name state" of each step, and the step that is not done.
func (b *joining) steps() (all string, at *hubv1.EnrollmentStep) {
	b.t.Helper()
	var answer *connect.Response[hubv1.EnrollmentResponse]
	// A jump of the clock makes the hub's view of its tokens old for a moment.
	eventually.For(b.t, time.Minute, "an answer", func() (err error) {
		answer, err = b.client.Clusters.Enrollment(b.t.Context(), connect.NewRequest(&hubv1.EnrollmentRequest{Name: "edge"}))
		return err
	})
	for _, s := range answer.Msg.GetSteps() {
		all += s.GetName() + " " + s.GetState() + ", "
		if at == nil && s.GetState() != "Done" {
			at = s
		}
	}
	if answer.Msg.GetDone() != (at == nil) {
		b.t.Errorf("done is %v with %s", answer.Msg.GetDone(), all)
	}
	return strings.TrimSuffix(all, ", "), at
}

// register does what an agent does first.
func (b *joining) register(token string) error {
	b.t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	request := connect.NewRequest(&agentv1.RegisterRequest{
		PublicKey: public, ClusterUid: "uid", BootId: "boot", AgentVersion: "v1.2.3", Proof: ed25519.Sign(private, []byte("axle-register\nuid\nboot")),
	})
	request.Header().Set("Authorization", "Bearer "+token)
	_, err = agentv1connect.NewAgentServiceClient(http.DefaultClient, b.URL).Register(b.t.Context(), request)
	return err
}

// TestEnrollmentTellsWhatIsMissing follows a cluster that comes as far as it can
// without an agent that polls.
func TestEnrollmentTellsWhatIsMissing(t *testing.T) {
	b := newJoining(t)
	const began = "token Done, contact Waiting, registered NotYet, approved NotYet, report NotYet, tunnel NotYet, rights NotYet"
	if all, at := b.steps(); all != began || len(at.GetChecks()) != 0 {
		t.Errorf("at first: %s, %v", all, at)
	}
	b.clock.offset.Store(int64(31 * time.Second))
	all, at := b.steps()
	checks := strings.Join(at.GetChecks(), "\n")
	for _, want := range []string{"kubectl -n axle-system logs deploy/axle-agent --tail=50", "DNS", "proxy", "CA", "clock", "axle-agent doctor --hub-url " + b.URL} {
		if !strings.Contains(checks, want) {
			t.Errorf("after 31 s %s, without %q:\n%s", all, want, checks)
		}
	}
	if err := b.register(b.bootstrap); err != nil {
		t.Fatal(err)
	}
	all, at = b.steps()
	if all != "token Done, contact Done, registered Done, approved Done, report Waiting, tunnel NotYet, rights NotYet" || len(at.GetChecks()) != 0 {
		t.Errorf("registered: %s, %v", all, at)
	}
	b.clock.offset.Store(int64(2 * time.Minute))
	if _, at = b.steps(); len(at.GetChecks()) == 0 {
		t.Errorf("no likely causes: %v", at)
	}
}

func TestEnrollmentTellsWhyAnAgentWasRefused(t *testing.T) {
	b := newJoining(t)
	b.clock.offset.Store(int64(2 * time.Hour))
	if all, at := b.steps(); !strings.HasPrefix(all, "token Failed, contact NotYet") || !strings.Contains(at.GetMessage(), "expired") || !strings.Contains(at.GetChecks()[0], "--renew-token") {
		t.Errorf("%s, %v", all, at)
	}
	if err := b.register(b.bootstrap); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Fatalf("an expired token: %v", err)
	}
	made, err := b.client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge", RenewToken: true}))
	if err != nil {
		t.Fatal(err)
	}
	all, at := b.steps()
	if !strings.HasPrefix(all, "token Done, contact Failed") || !strings.Contains(at.GetMessage(), "an agent v1.2.3 from 127.0.0.1 was refused: the bootstrap token is not known, has expired") {
		t.Errorf("%s, %v", all, at)
	}
	if err := b.register(made.Msg.GetBootstrapToken()); err != nil {
		t.Fatal(err)
	}
	if all, _ := b.steps(); !strings.HasPrefix(all, "token Done, contact Done, registered Done") {
		t.Errorf("with the new token: %s", all)
	}
	if err := b.register(made.Msg.GetBootstrapToken()); err == nil {
		t.Error("the token was used twice")
	}
}

// Whoever has the token of yesterday must not join when a new one was made because it
// may have leaked.
func TestANewTokenEndsTheOneBefore(t *testing.T) {
	b := newJoining(t)
	made, err := b.client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge", RenewToken: true}))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.register(b.bootstrap); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("an agent registers with the token before: %v", err)
	}
	if err := b.register(made.Msg.GetBootstrapToken()); err != nil {
		t.Errorf("the new token: %v", err)
	}
}
