package authproxy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/moby/spdystream/spdy"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

var errCut = errcode.New(errcode.Unavailable, "it was cut")

// chosen is the answer of a cluster that chose a protocol.
func chosen(name, protocol string) *agentv1.StreamAnswer {
	return &agentv1.StreamAnswer{Status: 101, Headers: []*agentv1.StreamHeader{{Name: name, Values: []string{protocol}}}}
}

func TestTerminatorIsForCommandsAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		upgrade string
		answer  *agentv1.StreamAnswer
		says    bool
	}{
		"v5":                         {"websocket", chosen("Sec-WebSocket-Protocol", "v5.channel.k8s.io"), true},
		"v4":                         {"websocket", chosen("sec-websocket-protocol", "v4.channel.k8s.io"), true},
		"SPDY, v4":                   {"SPDY/3.1", chosen("X-Stream-Protocol-Version", "v4.channel.k8s.io"), true},
		"SPDY, v2":                   {"SPDY/3.1", chosen("X-Stream-Protocol-Version", "v2.channel.k8s.io"), true},
		"base64":                     {"websocket", chosen("Sec-WebSocket-Protocol", "v4.base64.channel.k8s.io"), false},
		"a forward by WebSocket":     {"websocket", chosen("Sec-WebSocket-Protocol", "SPDY/3.1+portforward.k8s.io"), false},
		"a forward by SPDY":          {"SPDY/3.1", chosen("X-Stream-Protocol-Version", "portforward.k8s.io"), false},
		"SPDY without a version":     {"SPDY/3.1", &agentv1.StreamAnswer{Status: 101}, false},
		"a WebSocket of other kinds": {"websocket", chosen("Sec-WebSocket-Protocol", "chat"), false},
	} {
		if got := newTerminator(tc.upgrade, tc.answer) != nil; got != tc.says {
			t.Errorf("%s: %t, want %t", name, got, tc.says)
		}
	}
}

// webSocketFrame returns a frame of a server.
func webSocketFrame(first byte, payload string) string {
	switch n := len(payload); {
	case n < 126:
		return string([]byte{first, byte(n)}) + payload
	case n < 1<<16:
		return string(binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(n))) + payload
	default:
		return string(binary.BigEndian.AppendUint64([]byte{first, 127}, uint64(n))) + payload
	}
}

func TestWebSocketTerminatorFitsBetweenMessages(t *testing.T) {
	const binaryMessage, ping, end = 0x82, 0x89, 0x88
	output := webSocketFrame(binaryMessage, "\x01output")
	for name, tc := range map[string]struct {
		came string
		says bool
	}{
		"nothing came":                  {"", true},
		"whole messages":                {output + webSocketFrame(ping, "") + output, true},
		"a long message":                {webSocketFrame(binaryMessage, "\x01"+strings.Repeat("x", 300)), true},
		"a very long one":               {webSocketFrame(binaryMessage, "\x01"+strings.Repeat("x", 70000)), true},
		"an empty one":                  {webSocketFrame(binaryMessage, ""), true},
		"half a head":                   {output[:1], false},
		"half a long head":              {webSocketFrame(binaryMessage, strings.Repeat("x", 70000))[:9], false},
		"half a message":                {output[:len(output)-1], false},
		"a message in parts":            {webSocketFrame(0x02, "\x01out") + webSocketFrame(ping, "x") + webSocketFrame(0x80, "put"), true},
		"some parts of a message":       {webSocketFrame(0x02, "\x01out") + webSocketFrame(ping, "x"), false},
		"the outcome":                   {output + webSocketFrame(binaryMessage, "\x03{}"), false},
		"an output that looks like it":  {webSocketFrame(binaryMessage, "\x01\x03{}"), true},
		"a ping that looks like it":     {webSocketFrame(ping, "\x03{}"), true},
		"the end":                       {output + webSocketFrame(end, "\x03\xe8"), false},
		"what a server must not send":   {"\x82\x81abcd\x01", false},
		"a part that looks like it":     {webSocketFrame(0x02, "\x01out") + webSocketFrame(0x80, "\x03"), true},
		"the outcome, its first byte":   {webSocketFrame(binaryMessage, "\x03{}")[:3], false},
		"a later part after a ping, as": {webSocketFrame(0x02, "\x01") + webSocketFrame(ping, "") + webSocketFrame(0x80, "\x03{}"), true},
	} {
		for _, step := range []int{1, 3, 1 << 20} {
			w := newTerminator("websocket", chosen("Sec-WebSocket-Protocol", "v5.channel.k8s.io"))
			feed(w.came, tc.came, step)
			words := w.say(errCut)
			if got := words != nil; got != tc.says {
				t.Errorf("%s, %d bytes at once: %q, want words: %t", name, step, words, tc.says)
				continue
			}
			if words == nil {
				continue
			}
			status := words[5 : len(words)-4]
			if words[0] != 0x82 || int(binary.BigEndian.Uint16(words[2:])) != 1+len(status) || words[4] != 3 || !isFailure(status) || !bytes.HasSuffix(words, []byte{0x88, 2, 0x03, 0xe8}) {
				t.Errorf("%s: the words are %q", name, words)
			}
		}
	}
}

func isFailure(text []byte) bool {
	var status struct{ Status, Message string }
	return json.Unmarshal(text, &status) == nil && status.Status == "Failure" && status.Message == "it was cut"
}

func feed(to func([]byte), text string, step int) {
	for len(text) > 0 {
		n := min(step, len(text))
		to([]byte(text[:n]))
		text = text[n:]
	}
}

// spdyText is what a framer writes.
func spdyText(t testing.TB, frames ...spdy.Frame) string {
	t.Helper()
	var out bytes.Buffer
	framer, err := spdy.NewFramer(&out, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range frames {
		if err := framer.WriteFrame(frame); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func opening(id spdy.StreamId, kind string) spdy.Frame {
	return &spdy.SynStreamFrame{StreamId: id, Headers: http.Header{"Streamtype": {kind}}}
}

func data(id spdy.StreamId, text string) spdy.Frame {
	return &spdy.DataFrame{StreamId: id, Data: []byte(text)}
}

func TestSPDYTerminatorGoesToTheErrorStream(t *testing.T) {
	reply := &spdy.SynReplyFrame{StreamId: 3}
	all := spdyText(t, opening(1, "stdin"), data(1, "input"), &spdy.PingFrame{Id: 1}, opening(3, "error"), opening(5, "stdout"), data(1, strings.Repeat("more", 9000)))
	whole := spdyText(t, reply, data(5, "output"), &spdy.WindowUpdateFrame{StreamId: 1, DeltaWindowSize: 7})
	for name, tc := range map[string]struct {
		sent, came string
		says       bool
	}{
		"whole frames":                    {all, whole, true},
		"nothing came":                    {all, "", true},
		"half a frame came":               {all, whole[:len(whole)-1], false},
		"half a head came":                {all, whole + "\x80\x03", false},
		"the outcome came":                {all, whole + spdyText(t, data(3, "{}")), false},
		"nothing was opened":              {"", whole, false},
		"no error stream":                 {spdyText(t, opening(1, "stdin"), opening(3, "stdout")), whole, false},
		"half an opening":                 {all[:20], whole, false},
		"nonsense":                        {strings.Repeat("\x80\x03\x00\x01\x00\x00\x00\x0cnonsense....", 3) + all, whole, false},
		"an opening that unpacks to more": {spdyText(t, &spdy.SynStreamFrame{StreamId: 1, Headers: http.Header{"X": {strings.Repeat("x", 100_000)}}}, opening(3, "error")), whole, false},
		"an opening without an end":       {"\x80\x03\x00\x01\x00\xff\xff\xff" + strings.Repeat("x", 100), whole, false},
	} {
		for _, step := range []int{1, 7, 1 << 20} {
			w := newTerminator("SPDY/3.1", chosen("X-Stream-Protocol-Version", "v4.channel.k8s.io"))
			feed(w.sent, tc.sent, step)
			feed(w.came, tc.came, step)
			words := w.say(errCut)
			if got := words != nil; got != tc.says {
				t.Errorf("%s, %d bytes at once: %q, want words: %t", name, step, words, tc.says)
				continue
			}
			if words == nil {
				continue
			}
			framer, err := spdy.NewFramer(io.Discard, bytes.NewReader(words))
			if err != nil {
				t.Fatal(err)
			}
			frame, err := framer.ReadFrame()
			if d, ok := frame.(*spdy.DataFrame); err != nil || !ok || d.StreamId != 3 || d.Flags&spdy.DataFlagFin == 0 || !isFailure(d.Data) {
				t.Errorf("%s: the words are %+v, %v", name, frame, err)
			}
		}
	}
	plain := newTerminator("SPDY/3.1", chosen("X-Stream-Protocol-Version", "v3.channel.k8s.io"))
	plain.sent([]byte(all))
	if words := plain.say(errCut); string(words[8:]) != "it was cut" {
		t.Errorf("before version 4 an error is a text, not %q", words)
	}
}

// FuzzTerminator checks that no bytes of client or cluster make it panic, or
// write into the middle of a frame.
func FuzzTerminator(f *testing.F) {
	f.Add([]byte(spdyText(f, opening(1, "error"), data(1, "x"))), []byte(spdyText(f, data(3, "output"))), 3)
	f.Add([]byte("\x82\x81abcd\x01"), []byte(webSocketFrame(0x82, "\x01output")), 1)
	f.Fuzz(func(t *testing.T, sent, came []byte, step int) {
		step = max(1, step&0xff)
		for _, w := range []terminator{&webSocketTerminator{}, newSPDYTerminator(true)} {
			feed(w.sent, string(sent), step)
			feed(w.came, string(came), step)
			words := w.say(errors.New("cut"))
			// How the bytes were cut into pieces makes no difference.
			again := newSPDYTerminator(true)
			var other terminator = again
			if _, ok := w.(*webSocketTerminator); ok {
				other = &webSocketTerminator{}
			}
			other.sent(sent)
			other.came(came)
			if got := other.say(errors.New("cut")); !bytes.Equal(got, words) {
				t.Errorf("in pieces of %d bytes it says %q, at once %q", step, words, got)
			}
		}
	})
}
