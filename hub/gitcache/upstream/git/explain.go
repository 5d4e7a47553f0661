package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/internal/errcode"
)

// explain adds a code to every failure, and a text without secrets: what
// happened, where, and what to do.
func (s *Server) explain(ctx context.Context, err error) error {
	if coded := outermost(err); coded != nil {
		return errcode.New(coded.Code, "%s", s.Scrub(coded.Message)).After(coded.RetryAfter)
	}
	if cause := outermost(context.Cause(ctx)); cause != nil {
		return errcode.New(cause.Code, "%s", s.Scrub(cause.Message)).After(cause.RetryAfter)
	}
	var git *gitexec.Error
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errcode.New(errcode.Unavailable, "%s did not answer in time", s.loc)
	case errors.As(err, &dns):
		return errcode.New(errcode.Unavailable, "the name of %s cannot be resolved: %s; check the URL, and the hub's name service", s.loc, s.Scrub(dns.Err))
	case errors.As(err, &cert):
		return errcode.New(errcode.Unavailable, "the certificate of %s is not trusted: %s", s.loc, certificate(cert))
	case errors.As(err, &git):
		words := s.Scrub(strings.ReplaceAll(git.Words, s.asGit(s.loc.Path), s.loc.String()))
		return errcode.New(code(words), "%s: %s", s.loc, words)
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // the error already names the URL
	}
	return errcode.New(errcode.Unavailable, "%s cannot be read: %s", s.loc, s.Scrub(err.Error()))
}

func outermost(err error) *errcode.Error {
	var coded *errcode.Error
	if errors.As(err, &coded) {
		return coded
	}
	return nil
}

func certificate(err *tls.CertificateVerificationError) string {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it is only valid from " + invalid.Cert.NotBefore.UTC().Format(time.DateTime) + " to " + invalid.Cert.NotAfter.UTC().Format(time.DateTime) + "; renew it there, or set the hub's clock"
	case errors.As(err, &unknown):
		return "its authority is unknown here; give the repository the CA"
	}
	return err.Err.Error()
}

// code classifies git's errors by the few phrases that need different actions.
func code(words string) errcode.Code {
	for phrase, c := range map[string]errcode.Code{
		"Authentication failed":  errcode.Unauthorized,
		"could not read Usernam": errcode.Unauthorized,
		"Permission denied":      errcode.Unauthorized,
		"ot found":               errcode.NotFound,
		"does not appear to be":  errcode.NotFound,
	} {
		if strings.Contains(words, phrase) {
			return c
		}
	}
	return errcode.Unavailable
}
