package scale

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tarball"
)

// verifier reads one tarball at a time without touching a disk.
type verifier struct {
	zstd *zstd.Decoder
	hash hash.Hash
	buf  []byte
	file bytes.Buffer
}

var verifiers = sync.Pool{New: func() any {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil
	}
	return &verifier{zstd: z, hash: sha256.New(), buf: make([]byte, 32<<10)}
}}

// verify downloads a tarball and computes its digest. What it means is decoded
// once for the whole fleet: the clusters differ in their bytes' way alone.
func (c *contents) verify(ctx context.Context, client *hubclient.Client, name string) (*Content, error) {
	want, err := digest.Parse(name)
	if err != nil {
		return nil, err
	}
	body, err := client.Download(ctx, tarball.Request{Digest: want})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	c.mu.Lock()
	known := c.known[name]
	c.mu.Unlock()
	v, ok := verifiers.Get().(*verifier)
	if !ok {
		return nil, errors.New("there is no zstd decoder")
	}
	defer verifiers.Put(v)
	counted := &countingReader{Reader: body}
	got, objects, err := v.read(counted, known == nil)
	if err != nil {
		return nil, fmt.Errorf("tarball %s: %w", want.Short(), err)
	}
	if err := digest.Verify(want, got); err != nil {
		c.count.mismatches.Add(1)
		return nil, err
	}
	c.count.tarballs.Add(1)
	c.count.tarballBytes.Add(counted.n)
	if known != nil {
		return known.Content, nil
	}
	one := &Content{Digest: got}
	one.packed, one.counts = pack(Seen{Content: &Content{Objects: objects}}.components(nil))
	c.mu.Lock()
	c.known[name] = &content{Content: one}
	c.mu.Unlock()
	return one, nil
}

// read hashes all files, and decodes those that are plain YAML when asked to.
func (v *verifier) read(r io.Reader, decode bool) (digest.Digest, []manifest.Object, error) {
	if err := v.zstd.Reset(r); err != nil {
		return "", nil, err
	}
	sums, in := digest.New(), tar.NewReader(v.zstd)
	var objects []manifest.Object
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return sums.Digest(), objects, nil
		}
		if err != nil {
			return "", nil, err
		}
		if h.Typeflag != tar.TypeReg {
			return "", nil, fmt.Errorf("%q is no plain file", h.Name)
		}
		v.hash.Reset()
		v.file.Reset()
		to := io.Writer(v.hash)
		if decode && plain(h.Name) {
			to = io.MultiWriter(v.hash, &v.file)
		}
		if _, err := io.CopyBuffer(to, in, v.buf); err != nil {
			return "", nil, err
		}
		kind := digest.File
		if h.Mode&0o100 != 0 {
			kind = digest.Executable
		}
		if err := sums.Add(h.Name, kind, digest.Sum(v.hash.Sum(nil))); err != nil {
			return "", nil, err
		}
		found, _, err := manifest.Decode(h.Name, bytes.Clone(v.file.Bytes()))
		if err != nil {
			return "", nil, err
		}
		objects = append(objects, found...)
	}
}
