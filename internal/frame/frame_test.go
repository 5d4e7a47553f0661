package frame_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/axle-cd/axle/internal/frame"
)

func TestFramesComeBackInOrder(t *testing.T) {
	var pipe bytes.Buffer
	for _, text := range []string{"one", "", "three"} {
		if err := frame.Write(&pipe, wrapperspb.String(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"one", "", "three"} {
		var got wrapperspb.StringValue
		if err := frame.Read(&pipe, &got); err != nil || got.GetValue() != want {
			t.Errorf("got %q, %v; want %q", got.GetValue(), err, want)
		}
	}
	if err := frame.Read(&pipe, &wrapperspb.StringValue{}); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v, want EOF", err)
	}
}

func TestBadFrames(t *testing.T) {
	tests := map[string]struct {
		bytes []byte
		want  error
	}{
		"half a length": {bytes: []byte{0, 0}, want: io.ErrUnexpectedEOF},
		"half a body":   {bytes: []byte{0, 0, 0, 9, 1}, want: io.ErrUnexpectedEOF},
		"no body":       {bytes: []byte{0, 0, 0, 9}, want: io.ErrUnexpectedEOF},
		"too long":      {bytes: binary.BigEndian.AppendUint32(nil, frame.MaxBytes+1), want: frame.ErrTooLong},
		"longest":       {bytes: []byte{0xff, 0xff, 0xff, 0xff}, want: frame.ErrTooLong},
		"not protobuf":  {bytes: []byte{0, 0, 0, 1, 0xff}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := frame.Read(bytes.NewReader(test.bytes), &wrapperspb.StringValue{})
			if err == nil || errors.Is(err, io.EOF) || (test.want != nil && !errors.Is(err, test.want)) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestTooLongIsNotSent(t *testing.T) {
	var pipe bytes.Buffer
	err := frame.Write(&pipe, wrapperspb.Bytes(make([]byte, frame.MaxBytes)))
	if !errors.Is(err, frame.ErrTooLong) || pipe.Len() > 0 {
		t.Errorf("got %v and %d bytes sent, want a refusal and none", err, pipe.Len())
	}
}

// FuzzRead reads any input; Write must encode the decoded message to the same bytes.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 0, 3, 10, 1, 'a'})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, input []byte) {
		reader := bytes.NewReader(input)
		for {
			var got, again wrapperspb.StringValue
			if err := frame.Read(reader, &got); err != nil {
				return
			}
			var pipe bytes.Buffer
			if err := frame.Write(&pipe, &got); err != nil {
				t.Fatal(err)
			}
			if err := frame.Read(&pipe, &again); err != nil || !proto.Equal(&got, &again) {
				t.Errorf("%v became %v: %v", &got, &again, err)
			}
		}
	})
}
