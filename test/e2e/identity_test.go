package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/browser"
	"github.com/axle-cd/axle/test/port"
)

// party reserves an address for an application on npm's express-openid-connect, $PARTY, or
// starts it there with the Secret that the hub wrote:
//
//	party reserve | start CLUSTER NAMESPACE SECRET
func party(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	if args[0] == "reserve" {
		free, err := port.Address()
		ts.Check(err)
		ts.Setenv("PARTY", "http://"+free)
		return
	}
	ctx, cancel := limited(commandLimit)
	defer cancel()
	at, err := url.Parse(ts.Getenv("PARTY"))
	ts.Check(err)
	arguments := []string{"express-openid-connect.mjs"}
	for _, key := range []string{"issuer", "clientId", "clientSecret"} {
		got, err := s.Kubectl(ctx, args[1], "get", "secret", args[3], "-n", args[2], "-o", "go-template={{index .data \""+key+"\" | base64decode}}")
		ts.Check(err)
		arguments = append(arguments, got.Out)
	}
	running, stop := context.WithCancel(context.Background())
	c := exec.CommandContext(running, "node", append(arguments, "openid profile email groups offline_access")...)
	c.Dir = filepath.Join("..", "oidc")
	c.Env = append(os.Environ(), "PORT="+at.Port())
	if ca := s.Hub.CA; ca != "" {
		c.Env = append(c.Env, "NODE_EXTRA_CA_CERTS="+ca)
	}
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ts.Defer(func() {
		stop()
		_ = c.Wait()
	})
	if !bufio.NewScanner(out).Scan() {
		ts.Fatalf("the application ended before it listened; make deps installs express-openid-connect")
	}
}

var resetLink = regexp.MustCompile(`/login/reset\S+`)

// browse drives a real browser, one for all of a run:
//
//	browse open URL | link FILE (the one to choose a password) | fill SELECTOR TEXT | click SELECTOR | text TEXT | until URL TEXT
func browse(t *testing.T) func(*testscript.TestScript, bool, []string) {
	var b *browser.Browser
	return func(ts *testscript.TestScript, _ bool, args []string) {
		if b == nil {
			b = browser.New(t)
		}
		switch args[0] {
		case "open":
			b.Open(args[1])
		case "link":
			path := resetLink.FindString(ts.ReadFile(args[1]))
			b.Open(ts.Getenv("HUB") + path)
		case "fill":
			b.Fill(args[1], args[2])
		case "click":
			b.Click(args[1])
		case "text":
			b.WaitForText(args[1])
		case "until":
			err := eventually.Wait(context.Background(), waitLimit, func() error {
				b.Open(args[1])
				if text := b.Eval("document.body.innerText"); !strings.Contains(text, args[2]) {
					return fmt.Errorf("%s has %s", args[1], text)
				}
				return nil
			})
			ts.Check(err)
		default:
			ts.Fatalf("browse %s is not known", args[0])
		}
	}
}
