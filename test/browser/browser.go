// Package browser drives a real Chromium for tests, with the DevTools protocol over a
// pipe: no port, no library. It supports what tests of pages need: open, fill, click,
// read, take a screenshot, and a virtual authenticator for passkeys. On a machine
// without Chromium the test fails with the command to install it. Only tests use it.
package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

// limit is how long anything here may take on a loaded machine.
const limit = 60 * time.Second

// Browser is one running Chromium with one page.
type Browser struct {
	t       testing.TB
	to      *os.File
	session string

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	broken  error
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// New starts a Chromium with its own profile, which ends with the test.
func New(t testing.TB) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		path, err = exec.LookPath("chromium")
	}
	if err != nil {
		t.Fatal("no Chromium on this machine: run make deps (apt-get install chromium-headless-shell)")
	}
	readers, writers := [2]*os.File{}, [2]*os.File{}
	for i := range readers {
		if readers[i], writers[i], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	command.ExtraFiles = []*os.File{readers[0], writers[1]}
	command.WaitDelay = 10 * time.Second
	if err := command.Start(); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	_ = readers[0].Close()
	_ = writers[1].Close()
	b := &Browser{t: t, to: writers[0], waiting: map[int]chan reply{}}
	read := make(chan struct{})
	go func() { defer close(read); b.read(readers[1]) }()
	t.Cleanup(func() {
		b.quit()
		ended := make(chan struct{})
		go func() { defer close(ended); _ = command.Wait() }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
		}
		cancel()
		<-ended
		_ = writers[0].Close()
		_ = readers[1].Close()
		<-read
	})
	b.attach()
	return b
}

// quit asks the browser to end, so that it writes nothing more into its
// profile.
func (b *Browser) quit() {
	b.mu.Lock()
	session := b.session
	b.session = ""
	b.mu.Unlock()
	if session != "" {
		_, _ = b.send("Browser.close", nil)
	}
}

// read passes answers to their callers, until the browser has ended.
func (b *Browser) read(from *os.File) {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := in.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			b.broken = fmt.Errorf("the browser is gone: %w", err)
			for id, wait := range b.waiting {
				close(wait)
				delete(b.waiting, id)
			}
			b.mu.Unlock()
			return
		}
		var message struct {
			ID int `json:"id"`
			reply
		}
		if json.Unmarshal(line[:len(line)-1], &message) != nil || message.ID == 0 {
			continue
		}
		b.mu.Lock()
		wait := b.waiting[message.ID]
		delete(b.waiting, message.ID)
		b.mu.Unlock()
		if wait != nil {
			wait <- message.reply
		}
	}
}

// send makes one call of the protocol.
func (b *Browser) send(method string, params map[string]any) (json.RawMessage, error) {
	b.mu.Lock()
	if b.broken != nil {
		defer b.mu.Unlock()
		return nil, b.broken
	}
	b.next++
	id, wait := b.next, make(chan reply, 1)
	b.waiting[id] = wait
	session := b.session
	b.mu.Unlock()
	call := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		call["sessionId"] = session
	}
	text, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return nil, err
	}
	select {
	case got, open := <-wait:
		if !open {
			return nil, errors.New("the browser is gone")
		}
		if got.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, got.Error.Message)
		}
		return got.Result, nil
	case <-time.After(limit):
		return nil, fmt.Errorf("%s: no answer in %s", method, limit)
	}
}

// Call makes one call of the protocol and fails the test when it fails.
func (b *Browser) Call(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	result, err := b.send(method, params)
	if err != nil {
		b.t.Fatalf("browser: %v", err)
	}
	return result
}

func (b *Browser) attach() {
	b.t.Helper()
	var made struct{ TargetID string }
	b.decode(b.Call("Target.createTarget", map[string]any{"url": "about:blank"}), &made)
	var attached struct{ SessionID string }
	b.decode(b.Call("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}), &attached)
	b.mu.Lock()
	b.session = attached.SessionID
	b.mu.Unlock()
	b.Call("Page.enable", nil)
	b.Call("Runtime.enable", nil)
}

func (b *Browser) decode(data json.RawMessage, into any) {
	b.t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		b.t.Fatalf("browser: read an answer: %v", err)
	}
}

// Open goes to an address and waits until the page is there.
func (b *Browser) Open(url string) {
	b.t.Helper()
	b.Call("Page.navigate", map[string]any{"url": url})
	eventually.For(b.t, limit, "a page is loaded", func() error {
		if state, err := b.eval("document.readyState + ' ' + location.href"); err != nil || len(state) < 9 || state[:8] != "complete" || state == "complete about:blank" {
			return fmt.Errorf("state %q, %w", state, err)
		}
		return nil
	})
}

// eval runs an expression and returns its value as text.
func (b *Browser) eval(expression string) (string, error) {
	data, err := b.send("Runtime.evaluate", map[string]any{"expression": "String(" + expression + ")", "returnByValue": true, "awaitPromise": true})
	if err != nil {
		return "", err
	}
	var got struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		return "", err
	}
	if got.ExceptionDetails != nil {
		return "", errors.New("script: " + got.ExceptionDetails.Text)
	}
	return got.Result.Value, nil
}

// Eval runs an expression in the page, by the protocol: the page's own policy
// for scripts does not matter. It returns its value as text.
func (b *Browser) Eval(expression string) string {
	b.t.Helper()
	value, err := b.eval(expression)
	if err != nil {
		b.t.Fatalf("browser: %s: %v", expression, err)
	}
	return value
}

func quoted(text string) string { return strconv.Quote(text) }

// Fill types a value into the field that a selector finds, once it is there.
func (b *Browser) Fill(selector, value string) {
	b.t.Helper()
	b.WaitFor(selector)
	b.Eval("document.querySelector(" + quoted(selector) + ").value = " + quoted(value))
}

// Click clicks the element of a selector, once it exists.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.WaitFor(selector)
	b.Eval("document.querySelector(" + quoted(selector) + ").click()")
}

// WaitFor waits until a selector finds something that is shown.
func (b *Browser) WaitFor(selector string) {
	b.t.Helper()
	eventually.For(b.t, limit, "the page has "+selector, func() error {
		got, err := b.eval("!!document.querySelector(" + quoted(selector) + ")")
		if err != nil {
			return err
		}
		if got != "true" {
			return fmt.Errorf("not on %s:\n%s", b.url(), b.text())
		}
		return nil
	})
}

// WaitForText waits until the page contains a text.
func (b *Browser) WaitForText(text string) {
	b.t.Helper()
	eventually.For(b.t, limit, "the page says "+quoted(text), func() error {
		got, err := b.eval("document.body.innerText.includes(" + quoted(text) + ")")
		if err != nil {
			return err
		}
		if got != "true" {
			return fmt.Errorf("on %s:\n%s", b.url(), b.text())
		}
		return nil
	})
}

func (b *Browser) url() string {
	value, _ := b.eval("location.href")
	return value
}

func (b *Browser) text() string {
	value, _ := b.eval("document.body.innerText")
	return value
}

// Scripts is the number of scripts of the page.
func (b *Browser) Scripts() string { return b.Eval("document.scripts.length") }

// Forced is a scheme of Look: the dark one with the colours of the system.
const Forced = "forced"

// Look sets the width of the window, and light, dark or Forced.
func (b *Browser) Look(width, height int, scheme string) {
	b.t.Helper()
	forced := "none"
	if scheme == Forced {
		scheme, forced = "dark", "active"
	}
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
	b.Call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "forced-colors", "value": forced}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}})
}

// Axe returns what axe-core, whose source is given, finds in the page as it looks now.
func (b *Browser) Axe(source string) string {
	b.t.Helper()
	if b.Eval("'axe' in window") != "true" {
		b.Call("Runtime.evaluate", map[string]any{"expression": source})
	}
	// eval makes a text of its expression, which a promise has none of.
	b.Eval("globalThis.found = undefined")
	b.Eval(`void axe.run(document, {runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}, resultTypes: ["violations"]})
		.then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + ": " + v.help)).join("\n"), String).then((text) => { globalThis.found = text })`)
	eventually.For(b.t, limit, "axe has looked at the page", func() error {
		if b.Eval("found === undefined") == "true" {
			return errors.New("axe is not done")
		}
		return nil
	})
	return b.Eval("found")
}

// Picture returns a PNG of the whole page.
func (b *Browser) Picture() []byte {
	b.t.Helper()
	var got struct{ Data string }
	b.decode(b.Call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}), &got)
	data, err := base64.StdEncoding.DecodeString(got.Data)
	if err != nil {
		b.t.Fatalf("browser: read a picture: %v", err)
	}
	return data
}

// AddAuthenticator plugs in a virtual authenticator that holds passkeys and
// says that its user was verified.
func (b *Browser) AddAuthenticator() {
	b.t.Helper()
	b.Call("WebAuthn.enable", nil)
	b.Call("WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true, "isUserVerified": true, "automaticPresenceSimulation": true,
	}})
}
