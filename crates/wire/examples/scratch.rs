use base::*;
use wire::*;
fn main() {
    let port = std::env::args().nth(1).unwrap().parse().unwrap();
    let tls = if std::env::args().nth(2).as_deref() == Some("tls") {
        Tls::Required
    } else {
        Tls::Disabled
    };
    let user = std::env::args().nth(3).unwrap_or("root".into());
    let pw = std::env::args().nth(4).unwrap_or_default();
    let c = Connector::new(ConnectOptions {
        address: Address::Tcp {
            host: "127.0.0.1".into(),
            port,
        },
        user,
        password: Password::new(pw),
        schema: None,
        tls,
    })
    .unwrap();
    reactor::block_on(async {
        let mut s = match c.connect().await { Ok(s) => s, Err(e) => { println!("{e}"); return } };
        println!("{:?} {}", s.server(), s.transport());
        let a = s.query("select version(), 1+1, null, 12.50, @@local_infile").await.unwrap();
        for r in a.rows() { println!("{} {} {} {:?} {}", r.text(0), r.int(1).unwrap(), r.text(2), r.cents(3), r.text(4)); }
        let st = s.prepare("select ? + 1, cast(? as decimal(12,2)) + 0.01, ?, cast(? as datetime), cast(7 as unsigned)").await.unwrap();
        for n in [1i64, -5] {
            let a = s.execute(st, &[Param::Int(n), Param::Cents(Cents(n*101)), Param::Text(b"hey"), Param::Time(DateTime::now())]).await.unwrap();
            let r = a.row(0).unwrap();
            println!("{} {:?} {} {:?} {}", r.int(0).unwrap(), r.cents(1).unwrap(), r.text(2), r.bytes(3).unwrap(), r.int(4).unwrap());
        }
        println!("{}", s.query("select nonsense").await.unwrap_err());
        println!("{:?}", s.query("select 5").await.unwrap().row(0).unwrap().int(0));
        let t = std::time::Instant::now();
        let st = s.prepare("select ?").await.unwrap();
        for i in 0..100000i64 { s.execute(st, &[Param::Int(i)]).await.unwrap(); }
        println!("{:?} per stmt", t.elapsed()/100000);
        s.close().await;
    }).unwrap();
}
