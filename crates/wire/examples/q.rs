use base::*;
use wire::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let c = Connector::new(ConnectOptions {
        address: Address::Tcp {
            host: "127.0.0.1".into(),
            port: a[1].parse().unwrap(),
        },
        user: "root".into(),
        password: Password::new(""),
        schema: None,
        tls: Tls::Disabled,
    })
    .unwrap();
    reactor::block_on(async {
        let mut s = c.connect().await.unwrap();
        for q in &a[2..] {
            match s.query(q).await {
                Ok(r) => {
                    for row in r.rows() {
                        println!(
                            "{}",
                            (0..r.width)
                                .map(|i| row.text(i))
                                .collect::<Vec<_>>()
                                .join("\t")
                        );
                    }
                }
                Err(e) => println!("{e}"),
            }
        }
    })
    .unwrap();
}
