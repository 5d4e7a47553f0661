package pg

import (
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Old returns the URL of what says that it is Postgres of a version, such as 90603 for
// 9.6.3. It takes every login and answers each simple query with one row: the version,
// UTF8, off and false. It is not a database; see README.md.
func Old(tb TB, version string) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("%v", err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { answerAs(client, version) })
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close() // nobody dials any more
		running.Wait()
	})
	return "postgres://axle@" + listener.Addr().String() + "/axle?sslmode=disable"
}

// answerAs speaks until the client leaves.
func answerAs(client net.Conn, version string) {
	defer client.Close()
	backend := pgproto3.NewBackend(client, client)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for backend.Flush() == nil {
		asked, err := backend.Receive()
		if err != nil {
			return
		}
		if _, ok := asked.(*pgproto3.Query); !ok {
			return
		}
		row := &pgproto3.DataRow{Values: [][]byte{[]byte(version), []byte("UTF8"), []byte("off"), []byte("false")}}
		fields := &pgproto3.RowDescription{}
		for range row.Values {
			fields.Fields = append(fields.Fields, pgproto3.FieldDescription{Name: []byte("setting"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1})
		}
		backend.Send(fields)
		backend.Send(row)
		backend.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
		backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
}
