package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli"
)

// terminal returns the two ends of a real one: what a person types and reads,
// and what the command has.
func terminal(t *testing.T) (person, command *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if command, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Close() })
	return person, command
}

// shown is all that the person has seen until now. A terminal shows what is
// written to it a moment later.
func shown(t *testing.T, person, command *os.File) (text string) {
	t.Helper()
	const end = "<end>"
	if _, err := command.WriteString(end); err != nil {
		t.Fatal(err)
	}
	for !strings.HasSuffix(text, end) {
		part := make([]byte, 4096)
		n, err := person.Read(part)
		if err != nil {
			t.Fatal(err)
		}
		text += string(part[:n])
	}
	return strings.TrimSuffix(text, end)
}

// deleting is a hub that deletes services; a double for the command line.
type deleting struct {
	hubv1connect.UnimplementedServicesHandler
	deleted []string
}

func (d *deleting) Delete(_ context.Context, r *connect.Request[hubv1.DeleteServiceRequest]) (*connect.Response[hubv1.Service], error) {
	d.deleted = append(d.deleted, r.Msg.GetRef().GetCluster()+"/"+r.Msg.GetRef().GetName())
	return connect.NewResponse(&hubv1.Service{}), nil
}

// typing runs a command against a hub, on a terminal where a person types, or in a script
// when they type nothing.
func typing(t *testing.T, mux *http.ServeMux, types string, args []string) (code int, said string) {
	t.Helper()
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", server.URL)
	t.Setenv("AXLE_TOKEN", "token")
	if types == "" {
		var errs bytes.Buffer
		code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &errs})
		return code, errs.String()
	}
	person, command := terminal(t)
	if _, err := person.WriteString(types); err != nil {
		t.Fatal(err)
	}
	code = cli.Run(t.Context(), args, cli.Streams{In: command, Out: &bytes.Buffer{}, Err: command})
	return code, shown(t, person, command)
}

// A person is asked before something is destroyed; a script is not.
func TestDeletingAsksOnATerminal(t *testing.T) {
	for name, tc := range map[string]struct {
		// types is what the person types; empty is a script.
		types, flags string
		code         int
		asks         bool
		deletes      bool
	}{
		"yes":            {"y\n", "", 0, true, true},
		"no":             {"n\n", "", 1, true, false},
		"nothing":        {"\n", "", 1, true, false},
		"said before":    {"n\n", "--yes", 0, false, true},
		"a script":       {"", "", 0, false, true},
		"a script's yes": {"", "--yes", 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &deleting{}
			mux := http.NewServeMux()
			mux.Handle(hubv1connect.NewServicesHandler(d))
			code, said := typing(t, mux, tc.types, append([]string{"services", "delete", "edge/web", "edge/api", "--timeout", "0"}, strings.Fields(tc.flags)...))
			if code != tc.code || strings.Contains(said, "edge/web, edge/api") != tc.asks || (len(d.deleted) == 2) != tc.deletes {
				t.Errorf("exit %d, deleted %v, said %q", code, d.deleted, said)
			}
			if tc.code == 1 && !strings.Contains(said, "axle services delete edge/web edge/api --timeout 0 --yes") {
				t.Errorf("%q does not say how to do it without a question", said)
			}
		})
	}
}

// destroying is a hub that destroys clusters; a double for the command line.
type destroying struct {
	hubv1connect.UnimplementedClustersHandler
	destroyed []string
}

func (d *destroying) Destroy(_ context.Context, r *connect.Request[hubv1.DestroyClusterRequest]) (*connect.Response[hubv1.Cluster], error) {
	d.destroyed = append(d.destroyed, r.Msg.GetName())
	return connect.NewResponse(&hubv1.Cluster{}), nil
}

// Get has no cluster: it is gone at once.
func (*destroying) Get(context.Context, *connect.Request[hubv1.GetClusterRequest]) (*connect.Response[hubv1.Cluster], error) {
	return nil, connect.NewError(connect.CodeNotFound, nil)
}

// Machines are destroyed after their cluster's name was typed, or with --yes.
func TestDestroyingAsksForTheName(t *testing.T) {
	for types, tc := range map[string]struct {
		flags    string
		destroys bool
	}{
		"y\n": {"", false}, "yes\n": {"", false}, "shop-10\n": {"", false}, "shop-1\n": {"", true}, "no\n": {"--yes", true},
	} {
		d := &destroying{}
		mux := http.NewServeMux()
		mux.Handle(hubv1connect.NewClustersHandler(d))
		code, said := typing(t, mux, types, append([]string{"clusters", "destroy", "shop-1"}, strings.Fields(tc.flags)...))
		if (len(d.destroyed) == 1) != tc.destroys || (code == 0) != tc.destroys || (tc.flags == "") != strings.Contains(said, "WITH ITS MACHINES and what runs on them)? Type shop-1 to confirm: ") {
			t.Errorf("after %q %s: exit %d, destroyed %v, said %q", types, tc.flags, code, d.destroyed, said)
		}
	}
}
