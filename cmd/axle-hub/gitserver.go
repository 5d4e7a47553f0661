package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/internal/githttp"
)

// gitServer is how the Git server of axle up is reached.
type gitServer struct {
	githttp.Config
	listen, cert, key string
}

func newGitServer() *cobra.Command {
	var s gitServer
	cmd := &cobra.Command{
		Use:     "git-server --dir DIR --repository NAME --password-file FILE --tls-cert FILE --tls-key FILE",
		Short:   "Serve one Git repository over HTTPS, for axle up without a repository elsewhere",
		Long:    "Serve one Git repository over HTTPS, which is made if it is missing. It is what axle up local runs in a cluster if there is no repository elsewhere: it has one user with one password. Use a Git host for a repository that several people work on.",
		Example: "  axle-hub git-server --dir /data --repository fleet --password-file password --tls-cert tls.crt --tls-key tls.key",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnv(cmd.Flags()); err != nil {
				return fmt.Errorf("%w; %w", err, errUsage)
			}
			if s.Dir == "" || s.Name == "" || s.PasswordFile == "" || s.cert == "" || s.key == "" {
				return fmt.Errorf("--dir, --repository, --password-file, --tls-cert and --tls-key are needed; %w", errUsage)
			}
			return s.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.Dir, "dir", "", "folder of the repository")
	flags.StringVar(&s.Name, "repository", "", "name of the repository, which is served as /NAME.git")
	flags.StringVar(&s.Branch, "branch", "main", "branch that a clone checks out")
	flags.StringVar(&s.PasswordFile, "password-file", "", "file with the password; read again for each request")
	flags.StringVar(&s.cert, "tls-cert", "", "PEM file of the server certificate; read again for each connection")
	flags.StringVar(&s.key, "tls-key", "", "PEM file of the key of --tls-cert")
	flags.StringVar(&s.listen, "listen", ":8443", "address and port")
	return cmd
}

// run serves until the context ends, and then lets requests end.
func (s *gitServer) run(ctx context.Context) error {
	handler, err := githttp.New(ctx, s.Config)
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr: s.listen, Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.cert, s.key)
			return &pair, err
		}},
	}
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})()
	if err := server.ListenAndServeTLS("", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
